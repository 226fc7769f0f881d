"""Exports of Claude.ai: ``conversations.json``, a list of conversations with their messages."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.transfer.archives import Archive
from chatapp.transfer.chats import Chat, plain_text
from chatapp.transfer.transcript_files import Sample
from chatapp.transfer.transcripts import Block, listed, result_text
from condense import noop, say

LABEL = "Claude.ai"
WHERE = gettext_lazy("Settings > Privacy > Export data (a ZIP by e-mail).")

_ROLES = {"human": "user", "assistant": "assistant"}
# What tells nothing to people.
_SILENT = {"token_budget", "flag"}


def recognise(sample: Sample) -> bool:
    """Whether its items have messages of this form."""
    return any("chat_messages" in item for item in sample.items)


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return a conversation, None for what is none."""
    if not isinstance(item, dict) or not isinstance(item.get("chat_messages"), list):
        return None
    times = item.get("created_at"), item.get("updated_at")
    newest = item.get("current_leaf_message_uuid")
    chat = Chat(archive, item.get("name"), *times, newest=newest)
    above: Any = None
    for place, message in enumerate(item["chat_messages"]):
        role, model = _ROLES.get(message.get("sender"), ""), item.get("model")
        blocks = [*_blocks(chat, message, place)]
        for file in [*listed(message.get("attachments")), *listed(message.get("files"))]:
            text = file.get("extracted_content")
            chat.attach(blocks, file.get("file_name"), file.get("file_uuid"), text=text)
        if not role:
            chat.leave_out(noop("Nobody known has said it:"), plain_text(blocks))
            blocks = []
        parent = message.get("parent_message_uuid", above)
        above = message.get("uuid") or place
        chat.add(above, parent, role, blocks, at=message.get("created_at"), model=model)
    return chat


def _blocks(chat: Chat, message: Mapping[str, Any], place: int) -> Iterator[Block]:
    """Yield text, thinking, calls and results; older files have no ids of calls."""
    parts, called = listed(message.get("content")), f"call_{place}"
    for number, part in enumerate(parts or [{"type": "text", "text": message.get("text")}]):
        match part:
            case {"type": "text" | "thinking" as kind, **said}:
                if isinstance(text := said.get(kind), str) and text.strip():
                    yield {"type": kind, kind: text}
            case {"type": "tool_use", "name": str(name)}:
                called = str(part.get("id") or f"call_{place}_{number}")
                yield {"type": "tool_use", "id": called, "name": name, "input": part.get("input")}
            case {"type": "tool_result"}:
                text = result_text(part.get("content"))
                failed = {"is_error": True} if part.get("is_error") is True else {}
                id_ = str(part.get("tool_use_id") or called)
                yield {"type": "tool_result", "tool_use_id": id_, "content": text} | failed
            case {"type": str(kind)} if kind not in _SILENT:
                text = str(part.get("text") or "")
                chat.leave_out(say("It can't be imported: {kind}.", kind=kind[:60]), text)
