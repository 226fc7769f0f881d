"""Exports of Claude.ai: ``conversations.json``, a list of conversations with their messages."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.records.transfer.archives import Archive
from chatapp.records.transfer.chats import UNKNOWN, Chat, Said
from chatapp.records.transfer.source_texts import fields, joined, listed, texts_in
from chatapp.records.transfer.transcript_files import Sample
from chatapp.records.transfer.transcripts import blocks_in
from condense import noop

LABEL = "Claude.ai"
WHERE = gettext_lazy("Settings > Privacy > Export data (a ZIP by e-mail).")

_ROLES = {"human": "user", "assistant": "assistant"}


def recognise(sample: Sample) -> bool:
    """Return True if an item has messages of this form."""
    return any("chat_messages" in item for item in sample.items)


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return the conversation of an item, None if it is none."""
    if not isinstance(item, dict) or not isinstance(item.get("chat_messages"), list):
        return None
    # It repeats words of the messages.
    item.pop("summary", None)
    times = item.get("created_at"), item.get("updated_at")
    chat = Chat(archive, item.get("name"), *times, newest=item.get("current_leaf_message_uuid"))
    for place, one in enumerate(item["chat_messages"]):
        message, said = fields(one), partial(_said, chat, one, place)
        parent, at = message.get("parent_message_uuid", UNKNOWN), message.get("created_at")
        chat.add(message.get("uuid"), parent, said, at=at, model=item.get("model"))
    return chat


def _said(chat: Chat, message: Mapping[str, Any], place: int) -> Said:
    # Older files have no parts, and no ids of calls.
    parts, whole = listed(message.get("content")), {"type": "text", "text": message.get("text")}
    parts = parts if any(texts_in(parts)) else [*parts, whole]
    blocks = [*blocks_in(parts, f"call_{place}", chat.missing)]
    for file in (*listed(message.get("attachments")), *listed(message.get("files"))):
        blocks += chat.missing(file)
    if role := _ROLES.get(str(message.get("sender"))):
        return role, blocks
    chat.leave_out(noop("Nobody known has said it:"), joined(blocks))
    return "", []
