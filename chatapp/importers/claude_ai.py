"""Exports of Claude.ai: ``conversations.json``, a list of conversations with their messages."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chatapp.agent.annotated_blocks import file_block
from chatapp.composer.attachments import clean_name
from chatapp.transfer import Piece
from chatapp.transfer.archives import Archive
from chatapp.transfer.chats import Chat, read_chats
from chatapp.transfer.transcript_files import Sample
from chatapp.transfer.transcripts import (
    Block,
    call_block,
    listed,
    result_block,
    result_text,
    text_block,
)

LABEL = "Claude.ai"
WHERE = gettext_lazy("Settings > Privacy > Export data: the ZIP that the e-mail links to.")

_ROLES = {"human": "user", "assistant": "assistant"}
# What tells nothing to people.
_SILENT = {"token_budget", "flag"}


def recognise(sample: Sample) -> bool:
    """Whether its items have messages of this form."""
    return any("chat_messages" in item for item in sample.items)


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield each conversation with its branches as versions."""
    return read_chats(path, read_chat)


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return a conversation, None for what is none."""
    match item:
        case {"chat_messages": [*messages]}:
            chat = Chat(item.get("name"), item.get("created_at"), item.get("updated_at"))
            chat.newest = item.get("current_leaf_message_uuid")
        case _:
            return None
    above: Any = ""
    for message in messages:
        role, model = _ROLES.get(message.get("sender"), ""), item.get("model")
        blocks = _blocks(chat, message, archive)
        if not role:
            chat.leave_out(_("Nobody known has said it:"), blocks)
            continue
        id_ = message.get("uuid") or str(chat.count)
        parent = message.get("parent_message_uuid", above)
        chat.add(id_, parent, role, blocks, at=message.get("created_at"), model=model)
        above = id_
    return chat


def _blocks(chat: Chat, message: Mapping[str, Any], archive: Archive) -> list[Block]:
    parts = [one for one in listed(message.get("content")) if isinstance(one, dict)]
    blocks = [block for part in parts if (block := _block(chat, part))]
    text = message.get("text")
    if not blocks and isinstance(text, str) and text.strip():
        blocks = [text_block(text)]
    names = set[Any]()
    for attached in listed(message.get("attachments")):
        match attached:
            case {"extracted_content": str(text)} if text.strip():
                name = clean_name(str(attached.get("file_name") or ""))
                names.add(attached.get("file_name"))
                blocks.append(
                    file_block(name, text, size=len(text.encode(errors="replace"))).to_api()
                )
            case {"file_name": str(name)}:
                chat.attach(blocks, archive, name)
    for file in listed(message.get("files")):
        match file:
            case {"file_name": str(name)} if name not in names:
                chat.attach(blocks, archive, name, file.get("file_uuid"))
    return blocks


def _block(chat: Chat, part: Mapping[str, Any]) -> Block | None:
    match part:
        case {"type": "text", "text": str(text)}:
            return text_block(text) if text.strip() else None
        case {"type": "thinking", "thinking": str(text)}:
            return {"type": "thinking", "thinking": text} if text.strip() else None
        case {"type": "tool_use", "name": str(name)}:
            return call_block(name, str(part.get("id") or ""), part.get("input"))
        case {"type": "tool_result"}:
            id_ = str(part.get("tool_use_id") or "")
            result = result_block(id_, result_text(part.get("content")))
            failed = {"is_error": True} if part.get("is_error") is True else {}
            return result and result | failed
        case {"type": str(kind)} if kind not in _SILENT:
            chat.leave_out(_("It can't be imported: %s.") % kind[:60], str(part.get("text") or ""))
    return None
