"""The only place where rows become ``condense.Message`` and back.

The engine's tag operations, said as queries: each touches the rows it hides or shows and nothing
else, in one transaction. ``condense.history`` says the same on values in memory; a property test
holds the two against each other.
"""

import uuid
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import models, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.agent.annotated_blocks import as_claimed
from chatapp.models import Conversation, Message, Turn
from chatapp.models.database import Change, insert, prepared, prepared_update
from chatapp.models.messages import MessageQuerySet

_TAG_NAMES = (
    "condense_id",
    "condense_parent",
    "truncation_id",
    "truncation_parent",
    "clear_id",
    "rewind_parent",
)


def to_engine(row: Message) -> condense.Message:
    """Return the engine's view of a stored message; one that is damaged says that it is."""
    # As the engine writes them; a row just made still holds what it was given.
    given = {name: getattr(row, name) for name in _TAG_NAMES}
    ids: dict[str, Any] = {name: uuid.UUID(str(one)).hex for name, one in given.items() if one}
    tags = condense.Tags(
        **ids,
        cleared=row.cleared,
        undone=row.undone,
        pinned=bool(row.pinned),
        unbound=bool(row.unbound),
    )
    content: condense.Content
    try:
        content = condense.content_from_api(row.content)
    except condense.InvalidMessage:
        content = _("[This message is damaged: what it said can't be read.]")
    return condense.Message(
        role="user" if row.role == Message.Role.USER else "assistant",
        content=as_claimed(content) if row.claimed else content,
        id=str(row.pk),
        seq=row.seq,
        position=row.position,
        tags=tags,
        tokens=row.tokens,
    )


def read_conversation(pk: uuid.UUID) -> Conversation:
    """Return a conversation as it is now, with its profile and its owner."""
    (row,) = _conversation(pk=pk)
    return row


@prepared(pk=models.UUIDField())
def _conversation(pk: uuid.UUID) -> models.QuerySet[Conversation]:
    return Conversation.objects.filter(pk=pk).select_related("profile__summaries_by", "owner")


def put_off(conversation: Conversation, on: bool) -> None:
    """Have the next condensation that would begin by itself wait for one turn, or not."""
    Conversation.objects.filter(pk=conversation.pk).update(put_off=on)
    conversation.put_off = on


def is_put_off(conversation_id: uuid.UUID) -> bool:
    """Whether it shall wait."""
    return Conversation.objects.filter(pk=conversation_id, put_off=True).exists()


def read_effective(conversation_id: uuid.UUID) -> tuple[condense.Message, ...]:
    """Return what the model sees, in reading order; costs what is visible, not what is stored."""
    return as_effective(effective_rows(conversation=conversation_id))


def as_effective(rows: Iterable[Message]) -> tuple[condense.Message, ...]:
    """Return what the model sees, of the rows that it is made of."""
    return condense.effective_history([to_engine(row) for row in rows])


@prepared(conversation=models.UUIDField())
def effective_rows(conversation: uuid.UUID) -> MessageQuerySet:
    """Return the rows of what the model sees, in reading order."""
    return Message.objects.filter(conversation=conversation).effective()


def append_message(
    conversation_id: uuid.UUID,
    message: condense.Message,
    *,
    tokens: int,
    turn: Turn | None = None,
    stop_reason: str = "",
) -> Message:
    """Store a message of about ``tokens`` tokens at the end."""
    # Within another transaction it is part of that, and needs no savepoint.
    with transaction.atomic(savepoint=False):
        seq = next_seq(conversation_id)
        row = Message(
            **columns_of(message),
            tokens=tokens,
            conversation_id=conversation_id,
            turn=turn,
            seq=seq,
            position=seq,
            stop_reason=stop_reason,
        )
        return insert(row)


def columns_of(message: condense.Message) -> dict[str, Any]:
    """Return a message of the engine as columns of a row."""
    return {
        "role": message.role,
        "content": condense.content_to_api(message.content),
        "results": len(message.tool_results),
        "holds_results": _holds_results(message),
    }


def _holds_results(message: condense.Message) -> bool:
    return bool(message.content) and len(message.tool_results) == len(message.blocks)


def count_seen(history: Iterable[condense.Message]) -> dict[str, int]:
    """Count messages in memory as ``MessageQuerySet.count_seen`` counts those that are stored."""
    history = list(history)
    said = [message for message in history if not (message.is_summary or message.is_marker)]
    return {
        "messages_hidden": len([one for one in said if not _holds_results(one)]),
        "results_hidden": sum([len(message.tool_results) for message in said]),
        "condensations_hidden": len(history) - len(said),
    }


def next_seq(conversation_id: uuid.UUID) -> int:
    """Return the number of the next message; the row is locked until the commit."""
    now = timezone.now()
    last: int
    (last,) = _grow.returning("last_seq", pk=conversation_id, now=now)
    return last


@prepared_update(pk=models.UUIDField(), now=models.DateTimeField())
def _grow(pk: uuid.UUID, now: datetime) -> Change:
    columns = {"last_seq": F("last_seq") + 1, "revision": F("revision") + 1, "updated_at": now}
    return Conversation.objects.filter(pk=pk), columns


def remember_measurement(
    conversation_id: uuid.UUID, profile_id: int, tokens: int, seq: int
) -> None:
    """Keep the provider's word: messages up to ``seq``, system and tools are ``tokens`` long.

    It says nothing once another profile was chosen.
    """
    _measure(pk=conversation_id, profile=profile_id, tokens=tokens, seq=seq)


@prepared_update(
    pk=models.UUIDField(),
    profile=models.IntegerField(),
    tokens=models.IntegerField(),
    seq=models.IntegerField(),
)
def _measure(pk: uuid.UUID, profile: int, tokens: int, seq: int) -> Change:
    rows = Conversation.objects.filter(pk=pk, profile=profile)
    return rows, {"measured_tokens": tokens, "measured_seq": seq}


def mark_changed(conversation_id: uuid.UUID) -> None:
    """Count a change of what the model sees; what was measured before no longer holds."""
    Conversation.objects.filter(pk=conversation_id).update(
        revision=F("revision") + 1, measured_tokens=None, measured_seq=None
    )


def note_record(conversation_id: uuid.UUID) -> None:
    """Count a new row of the record, which changes nothing of what the model sees."""
    Conversation.objects.filter(pk=conversation_id).update(revision=F("revision") + 1)


def usage_columns(usage: condense.Usage) -> dict[str, int]:
    """Return a call's usage as the columns of ``ModelCall``."""
    return {f"tokens_{name}": value for name, value in asdict(usage).items()}
