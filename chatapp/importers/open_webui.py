"""Exports of Open WebUI: a list of chats, whose ``history`` has all branches.

What a model thought and which tools it called stands in its text, between tags.
"""

import binascii
import html
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chatapp import errors
from chatapp.agent.annotated_blocks import file_block
from chatapp.composer import attachments
from chatapp.providers import request_bytes
from chatapp.transfer import Piece
from chatapp.transfer.archives import Archive
from chatapp.transfer.chats import Chat, read_chats, seconds
from chatapp.transfer.transcript_files import Sample
from chatapp.transfer.transcripts import (
    Block,
    call_block,
    joined_text,
    listed,
    result_block,
    text_block,
)

LABEL = "Open WebUI"
WHERE = gettext_lazy("Settings > Data controls > Export chats, or a chat's menu > Download > JSON.")

_DETAILS, _END = '<details type="', "</details>"
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_SUMMARY = re.compile(r"\s*<summary>[^<]*</summary>")


def recognise(sample: Sample) -> bool:
    """Whether its items are chats with a history."""
    return any(_history(item) for item in sample.items)


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield each conversation with its branches as versions."""
    return read_chats(path, read_chat)


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return a conversation, None for what is none."""
    if not (history := _history(item)):
        return None
    inner = item.get("chat", item)
    times = (seconds(item.get(name)) for name in ("created_at", "updated_at"))
    chat = Chat(item.get("title") or inner.get("title"), *times)
    chat.newest = history.get("currentId")
    prompt = inner.get("system") or (inner.get("params") or {}).get("system")
    if isinstance(prompt, str) and prompt.strip():
        chat.leave_out(_("System prompts are not imported:"), prompt)
    for name, message in history["messages"].items():
        role, blocks = _said(chat, message, archive)
        at, model = seconds(message.get("timestamp")), message.get("model")
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


def _said(chat: Chat, message: Mapping[str, Any], archive: Archive) -> tuple[str, list[Block]]:
    role, content = message.get("role"), message.get("content")
    text = content if isinstance(content, str) else joined_text(content)
    match message.get("error"):
        case {"content": str(said)} | str(said):
            chat.leave_out(_("An answer failed:"), said)
    if role not in {"user", "assistant"}:
        if text.strip():
            chat.leave_out(_("Nobody known has said it:"), text)
        return "assistant", []
    blocks = [text_block(text)] if text.strip() else []
    if role == "assistant":
        blocks = [*_parts(text)]
        match message.get("merged"):
            case {"content": str(merged)} if merged.strip():
                blocks.append(text_block(merged))
    for file in listed(message.get("files")):
        _attach(chat, blocks, file, archive)
    return role, blocks


def _parts(text: str) -> Iterator[Block]:
    """Yield the blocks of an answer: text, thinking, calls and their results."""
    before, *rest = text.split(_DETAILS)
    if before.strip():
        yield text_block(before.strip())
    for one in rest:
        head, closed, body = one.partition(">")
        body, ended, after = body.partition(_END)
        kind = head.partition('"')[0]
        if not (closed and ended and kind in {"reasoning", "tool_calls"}):
            yield text_block(_DETAILS + one)
            continue
        if kind == "reasoning":
            lines = _SUMMARY.sub("", body, count=1).strip().splitlines()
            thought = "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines)
            yield {"type": "thinking", "thinking": html.unescape(thought)}
        else:
            told = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(head)}
            call = call_block(told.get("name", ""), told.get("id", ""), told.get("arguments", ""))
            result = result_block(told.get("id", ""), _unquoted(told.get("result", "")))
            yield from filter(None, (call, result))
        if after.strip():
            yield text_block(after.strip())


def _unquoted(result: str) -> str:
    """Return a result that may be a text in JSON."""
    inner = request_bytes.decode_input(f'{{"result": {result}}}').get("result")
    return inner if isinstance(inner, str) else result


def _attach(chat: Chat, blocks: list[Block], file: Any, archive: Archive) -> None:
    match file:
        case {"type": "image", "url": str(url)}:
            head, comma, data = url.partition(";base64,")
            if not (comma and head.startswith("data:image/")):
                chat.attach(blocks, archive, file.get("name") or _("Image"), file.get("id"))
                return
            try:
                name = file.get("name")
                image = b64decode(data, validate=True)
                blocks.append(attachments.block_for(str(name or _("Image")), image).to_api())
            except (errors.Refused, binascii.Error) as error:
                chat.leave_out(str(error))
        case {"file": {"data": {"content": str(text)}, **told}} if text.strip():
            name = attachments.clean_name(str(file.get("name") or told.get("filename") or ""))
            blocks.append(file_block(name, text).to_api())
        case {**other}:
            chat.attach(blocks, archive, other.get("name"), other.get("id"))
