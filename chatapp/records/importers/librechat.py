"""Exports of LibreChat: one conversation a file, its messages in a list or inside each other."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.records.transfer.archives import Archive
from chatapp.records.transfer.chats import UNKNOWN, Chat, Said
from chatapp.records.transfer.source_texts import fields, listed
from chatapp.records.transfer.transcript_files import Sample
from chatapp.records.transfer.transcripts import blocks_in, links_in

LABEL = "LibreChat"
WHERE = gettext_lazy("A chat's menu > Export > JSON, with all branches.")

_MARKS = re.compile(
    r'\s*\{\s*"conversationId"\s*:|.*"(?:messagesTree|isCreatedByUser)"\s*:', re.DOTALL
)


def recognise(sample: Sample) -> bool:
    """Return True if the file begins like an export, or has the fields of its messages."""
    return bool(_MARKS.match(sample.head))


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return the conversation of an item, None if it is none."""
    found = (item.get("messagesTree") or item.get("messages")) if isinstance(item, dict) else None
    if not isinstance(found, list):
        return None
    chat = Chat(archive, item.get("title"), prompt=fields(item.get("options")).get("promptPrefix"))
    waiting = [(one, fields(one).get("parentMessageId", UNKNOWN)) for one in reversed(found)]
    while waiting:
        one, parent = waiting.pop()
        message, said = fields(one), partial(_said, chat, one)
        at, model = message.get("createdAt"), message.get("model")
        name = chat.add(message.get("messageId"), parent, said, at=at, model=model)
        waiting += [(one, name) for one in reversed(listed(message.get("children")))]
    return chat


def _said(chat: Chat, message: Mapping[str, Any]) -> Said:
    kind = "error" if message.get("error") is True else "text"
    whole = [{"type": kind, "text": message.get("text")}]
    blocks = [*blocks_in(listed(message.get("content")) or whole, missing=chat.missing)]
    for file in (*listed(message.get("files")), *listed(message.get("attachments"))):
        blocks += links_in(file) or chat.missing(file)
    return "user" if message.get("isCreatedByUser") is True else "assistant", blocks
