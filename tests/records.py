"""Rows as they stand on record, for tests and for what they begin with."""

import uuid
from collections.abc import Sequence

from django.db import transaction
from django.db.models import F

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
        row = Conversation.objects.select_for_update().get(pk=conversation_id)
        rows = [
            Message(
                **message_store.columns_of(message),
                tokens=tokens,
                conversation=row,
                seq=seq,
                position=seq,
            )
            for seq, (message, tokens) in enumerate(messages, row.last_seq + 1)
        ]
        Message.objects.bulk_create(rows, batch_size=500)
        count = F("last_seq") + len(rows)
        Conversation.objects.filter(pk=conversation_id).update(
            last_seq=count, revision=F("revision") + len(rows)
        )
