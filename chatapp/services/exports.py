"""A conversation as a file."""

from collections.abc import Iterator
from typing import Any

import orjson
from django.utils import timezone

from chatapp.models import Conversation

# What says where a message stands, and what hides it.
_FIELDS = (
    "seq", "position", "role", "content", "created_at", "hidden", "undone",
    "condense_id", "condense_parent", "truncation_id", "truncation_parent",
    "clear_id", "rewind_parent", "pinned",
)  # fmt: skip


def export_messages(conversation: Conversation) -> Iterator[bytes]:
    """Yield JSON with all messages in the order in which they were written, hidden ones too.

    It has the form that a transcript is imported from.
    """
    head: dict[str, Any] = {
        "title": conversation.title,
        "conversation": conversation.pk,
        "exported_at": timezone.now(),
    }
    yield orjson.dumps(head)[:-1] + b',"messages":['
    rows = conversation.messages.order_by("seq").values(*_FIELDS)
    for index, row in enumerate(rows.iterator(chunk_size=200)):
        yield (b"," if index else b"") + orjson.dumps(row)
    yield b"]}\n"
