"""Rows as they stand on record, for tests and for what they begin with."""

import uuid
from collections.abc import Sequence

from django.db import transaction

import condense
from chatapp.models import Condensation, Conversation, Message, message_store

USUAL = {
    "status": "succeeded",
    "kind": "condensed",
    "strategy": "fresh_start",
    "trigger": "manual",
    "threshold": 90,
    "threshold_source": "global",
    "context_window": 200_000,
    "allowed": 171_808,
    "profile_name": "Offline",
    "model": "offline",
    "tokens_before": 900,
    "tokens_before_measured": False,
}


def put_on_record(conversation: Conversation, **columns: object) -> Condensation:
    """Return the record of a condensation by hand that succeeded, but for these columns."""
    return Condensation.objects.create(conversation=conversation, **USUAL | columns)


def record_for(conversation: Conversation, message: Message) -> Condensation:
    """Return the record of a condensation that succeeded with this summary."""
    return put_on_record(conversation, message=message, at_seq=message.seq - 1, tokens_before=100)


def append_many(
    conversation_id: uuid.UUID, messages: Sequence[tuple[condense.Message, int]]
) -> None:
    """Store messages, each with its tokens, at the end of a conversation."""
    with transaction.atomic():
        for message, tokens in messages:
            message_store.append_message(conversation_id, message, tokens=tokens)
