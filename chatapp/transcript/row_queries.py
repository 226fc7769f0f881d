"""What rows ask of the database each time they are shown, compiled once."""

import itertools
import uuid
from collections.abc import Collection, Iterable
from typing import Any

from django.db import models

from chatapp.models import Condensation, Conversation, Message, ModelCall, Rewind
from chatapp.models.messages import MessageQuerySet
from chatapp.models.prepared_queries import prepared

# What a message's row shows besides the message.
SHOWN_WITH = ("call", "condensation", "turn")


@prepared(pk=models.UUIDField())
def revisions(pk: uuid.UUID) -> models.QuerySet[Conversation, int]:
    """Return the revision of a conversation."""
    return Conversation.objects.filter(pk=pk).values_list("revision", flat=True)


@prepared(conversation=models.UUIDField(), seq=models.IntegerField())
def row_and_next(conversation: uuid.UUID, seq: int) -> MessageQuerySet:
    """Return a message, and the one that was written after it, if any."""
    rows = Message.objects.filter(conversation=conversation, seq__gte=seq)
    return rows.select_related(*SHOWN_WITH).order_by("seq")[:2]


@prepared(conversation=models.UUIDField(), position=models.IntegerField())
def clearings(conversation: uuid.UUID, position: int) -> MessageQuerySet:
    """Return the markers in force of clearings, from a position on."""
    made = Message.objects.filter(
        conversation=conversation, clear_id__isnull=False, hidden=False, position__gte=position
    )
    return made.select_related("condensation")


def sums_of(turns: Collection[uuid.UUID]) -> Iterable[tuple[Any, ...]]:
    """Return what the calls of some turns took, as ``per_turn`` does; mostly of one, or of none."""
    if len(turns) > 1:
        return ModelCall.objects.filter(turn__in=turns).per_turn()
    return itertools.chain.from_iterable(_sum(turn=turn) for turn in turns)


@prepared(turn=models.UUIDField())
def _sum(turn: uuid.UUID) -> "models.QuerySet[ModelCall, tuple[Any, ...]]":
    return ModelCall.objects.filter(turn=turn).per_turn()


@prepared(conversation=models.UUIDField())
def rewinds(conversation: uuid.UUID) -> models.QuerySet[Rewind]:
    """Return all rewinds with ``is_undoable``, oldest first."""
    rows = Rewind.objects.filter(conversation=conversation)
    return rows.with_undoable().order_by("created_at")


@prepared(conversation=models.UUIDField())
def folds(conversation: uuid.UUID) -> models.QuerySet[Condensation, uuid.UUID]:
    """Return the first condensation that left a summary, undone or not."""
    made = Condensation.objects.filter(
        conversation=conversation, kind=Condensation.Kind.CONDENSED, message__isnull=False
    )
    return made.order_by("started_at").values_list("pk", flat=True)[:1]
