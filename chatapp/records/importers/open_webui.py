"""Exports of Open WebUI: a list of chats, whose ``history`` has all branches.

A model's thoughts and tool calls are in its text, between tags.
"""

import html
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.agent.tool_arguments import read_arguments
from chatapp.records.transfer.archives import Archive
from chatapp.records.transfer.chats import UNKNOWN, Chat, Said
from chatapp.records.transfer.source_texts import fields, joined, listed
from chatapp.records.transfer.transcript_files import Sample
from chatapp.records.transfer.transcripts import Block, blocks_in, links_in
from condense import noop

LABEL = "Open WebUI"
WHERE = gettext_lazy("Settings > Data controls > Export chats.")

_DETAILS, _END = '<details type="', "</details>"
_ATTRIBUTE = re.compile(r'\b(\w+)="([^"]*)"')
_SUMMARY = re.compile("<summary>[^<]*</summary>")


def recognise(sample: Sample) -> bool:
    """Return True if an item is a chat with a history."""
    return any(_messages(item) for item in sample.items)


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return the conversation of an item, None if it is none."""
    if not (messages := _messages(item)):
        return None
    inner = fields(item.get("chat", item))
    times, history = (item.get("created_at"), item.get("updated_at")), fields(inner.get("history"))
    prompt = inner.get("system") or fields(inner.get("params")).get("system")
    title = item.get("title") or inner.get("title")
    chat = Chat(archive, title, *times, newest=history.get("currentId"), prompt=prompt)
    for name, one in messages:
        message, said = fields(one), partial(_said, chat, one)
        parent, at = message.get("parentId", UNKNOWN), message.get("timestamp")
        chat.add(name, parent, said, at=at, model=message.get("model"))
    return chat


def _messages(item: Any) -> list[tuple[Any, Any]]:
    """Return a chat's messages with their ids, or only the shown ones if it has no others."""
    inner = fields(fields(item).get("chat", item))
    found = fields(fields(inner.get("history")).get("messages"))
    shown = listed(inner.get("messages")) if inner is not item else []
    return [*found.items()] or [(fields(one).get("id"), one) for one in shown]


def _said(chat: Chat, message: Mapping[str, Any]) -> Said:
    role, content = message.get("role"), message.get("content")
    text = content if isinstance(content, str) else joined(content)
    match message.get("error"):
        case {"content": str(said)} | str(said):
            chat.leave_out(noop("An answer failed:"), said)
    if role == "system" and text.strip():
        chat.leave_out(noop("System prompts are not imported:"), text)
    if role not in {"user", "assistant"}:
        return "", []
    # Newer versions have the items of an answer, and sometimes no text.
    output = [*blocks_in(message.get("output"), missing=chat.missing)]
    blocks = [*blocks_in(content)] if role == "user" else output or [*_parts(text)]
    blocks += blocks_in(fields(message.get("merged")).get("content"))
    blocks += blocks_in(message.get("files"), missing=chat.missing)
    return role, blocks + links_in(message.get("sources") or message.get("citations"))


def _parts(text: str) -> Iterator[Block]:
    """Yield the blocks of an answer: text, thinking, calls and their results."""
    before, *rest = text.split(_DETAILS)
    yield from blocks_in(before.strip())
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
            result = told.get("result") or inner
            said = read_arguments(f'{{"result": {result}}}').get("result")
            output = said if isinstance(said, str) else result
            yield from blocks_in([told | {"type": "tool_call", "output": output}], f"call_{number}")
        yield from blocks_in(after.strip())
