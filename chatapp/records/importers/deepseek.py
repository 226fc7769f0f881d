"""Exports of DeepSeek: trees as ChatGPT's, with messages in fragments."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.records.transfer.archives import Archive
from chatapp.records.transfer.chats import UNKNOWN, Chat, Said
from chatapp.records.transfer.source_texts import fields, joined, listed
from chatapp.records.transfer.transcript_files import Sample
from chatapp.records.transfer.transcripts import blocks_in

LABEL = "DeepSeek"
WHERE = gettext_lazy("Settings > Data controls > Export data (a ZIP by e-mail).")


def recognise(sample: Sample) -> bool:
    """Return True if an item is a tree of nodes with this service's time."""
    return any({"mapping", "inserted_at"} <= item.keys() for item in sample.items)


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return the conversation of an item, None if it is none."""
    if not isinstance(item, dict) or not isinstance(nodes := item.get("mapping"), dict):
        return None
    chat = Chat(archive, item.get("title"), item.get("inserted_at"), item.get("updated_at"))
    for name, node in nodes.items():
        message, parent = fields(fields(node).get("message")), fields(node).get("parent", UNKNOWN)
        said, at = partial(_said, chat, message), message.get("inserted_at")
        chat.add(name, parent, said, at=at, model=message.get("model"))
    return chat


def _said(chat: Chat, message: Mapping[str, Any]) -> Said:
    # Older files have a role, and no fragments.
    thought = {"type": "THINK", "content": message.get("reasoning_content")}
    whole = {"type": message.get("role"), "content": message.get("content")}
    role, parts = "assistant", list[Any]()
    for one in map(fields, listed(message.get("fragments")) or [thought, whole]):
        kind, text = str(one.get("type")), joined(one.get("content"))
        role = "user" if kind in {"REQUEST", "USER"} else role
        parts += [{"type": "thinking" if kind == "THINK" else "text", "text": text}] * bool(text)
    blocks = [*blocks_in(parts)]
    for file in listed(message.get("files")):
        blocks += chat.missing(file)
    return role, blocks
