"""Exports of Open WebUI: a list of chats, whose ``history`` has all branches.

What a model thought and which tools it called stands in its text, between tags.
"""

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.providers import request_bytes
from chatapp.transfer.archives import Archive
from chatapp.transfer.chats import Chat
from chatapp.transfer.transcript_files import Sample
from chatapp.transfer.transcripts import Block, joined_text, listed, parts_of
from condense import noop

LABEL = "Open WebUI"
WHERE = gettext_lazy("Settings > Data controls > Export chats.")

_DETAILS, _END = '<details type="', "</details>"
_ATTRIBUTE = re.compile(r'\b(\w+)="([^"]*)"')
_SUMMARY = re.compile("<summary>[^<]*</summary>")


def recognise(sample: Sample) -> bool:
    """Whether its items are chats with a history."""
    return any(_history(item) for item in sample.items)


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return a conversation, None for what is none."""
    if not (history := _history(item)):
        return None
    inner = item.get("chat", item)
    times, newest = (item.get("created_at"), item.get("updated_at")), history.get("currentId")
    prompt = inner.get("system") or (inner.get("params") or {}).get("system")
    title = item.get("title") or inner.get("title")
    chat = Chat(archive, title, *times, newest=newest, prompt=prompt)
    for name, message in history["messages"].items():
        role, blocks = _said(chat, message)
        at, model = message.get("timestamp"), message.get("model")
        chat.add(name, message.get("parentId"), role, blocks, at=at, model=model)
    return chat


def _history(item: Any) -> dict[str, Any]:
    """Return the tree of a chat, an empty one for what is none."""
    match item:
        case {"chat": {"history": {"messages": {}} as found}} | {
            "history": {"messages": {}} as found
        }:
            return {**found}
    return {}


def _said(chat: Chat, message: Mapping[str, Any]) -> tuple[str, list[Block]]:
    role, content = message.get("role"), message.get("content")
    text = content if isinstance(content, str) else joined_text(content)
    match message.get("error"):
        case {"content": str(said)} | str(said):
            chat.leave_out(noop("An answer failed:"), said)
    if role == "system" and text.strip():
        chat.leave_out(noop("System prompts are not imported:"), text)
    if role not in {"user", "assistant"}:
        return "", []
    blocks = parts_of(text) if role == "user" else [*_parts(text)]
    blocks += parts_of((message.get("merged") or {}).get("content"))
    for file in listed(message.get("files")):
        image = {"type": "image_url", "image_url": file.get("url")}
        told = file.get("file") or {}
        name = file.get("name") or told.get("filename")
        if file.get("type") == "image" and (found := parts_of([image])):
            blocks += found
        else:
            inner = (told.get("data") or {}).get("content")
            chat.attach(blocks, name, file.get("id"), text=inner)
    return role, blocks


def _parts(text: str) -> Iterator[Block]:
    """Yield the blocks of an answer: text, thinking, calls and their results."""
    before, *rest = text.split(_DETAILS)
    yield from parts_of(before.strip())
    for number, one in enumerate(rest):
        head, _closed, body = one.partition(">")
        body, ended, after = body.partition(_END)
        kind = head.partition('"')[0]
        inner = html.unescape(_SUMMARY.sub("", body, count=1)).strip()
        told = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(head)}
        if not (ended and kind in {"reasoning", "tool_calls"}):
            after = _DETAILS + one
        elif kind == "reasoning":
            lines = inner.splitlines()
            thought = "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines)
            yield {"type": "thinking", "thinking": thought}
        else:
            # Older versions have the result among the attributes, some calls no id.
            id_, name = told.get("id") or f"call_{number}", told.get("name", "")
            result = told.get("result") or inner
            said = request_bytes.decode_input(f'{{"result": {result}}}').get("result")
            said = said if isinstance(said, str) else result
            given = request_bytes.decode_input(told.get("arguments", ""))
            yield {"type": "tool_use", "id": id_, "name": name, "input": given}
            yield {"type": "tool_result", "tool_use_id": id_, "content": said}
        yield from parts_of(after.strip())
