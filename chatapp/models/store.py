"""The only place where rows become ``condense.Message`` and back.

The engine's tag operations, said as queries: each touches the rows it hides or shows and nothing
else, in one transaction. ``condense.history`` says the same on values in memory; a property test
holds the two against each other.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import models, transaction
from django.db.models import F, Q
from django.utils import timezone

import condense
from chatapp.models import Condensation, Conversation, Message, Rewind, Turn
from chatapp.models.conversations import MessageQuerySet
from chatapp.models.prepared import Change, insert, prepared, prepared_update

_TAG_NAMES = (
    "condense_id",
    "condense_parent",
    "truncation_id",
    "truncation_parent",
    "clear_id",
    "rewind_parent",
)


def to_engine(row: Message) -> condense.Message:
    """Return the engine's view of a stored message."""
    ids: dict[str, Any] = {name: _text(getattr(row, name)) for name in _TAG_NAMES}
    tags = condense.Tags(
        **ids,
        cleared=row.cleared,
        undone=row.undone,
        pinned=bool(row.pinned),
        unbound=bool(row.unbound),
    )
    return condense.Message(
        role="user" if row.role == Message.Role.USER else "assistant",
        content=condense.content_from_api(row.content),
        id=str(row.pk),
        seq=row.seq,
        position=row.position,
        tags=tags,
        tokens=row.tokens,
    )


def _text(value: uuid.UUID | str | None) -> str | None:
    """Return an id as the engine writes it; a row just made still holds what it was given."""
    return None if value is None else uuid.UUID(str(value)).hex


def read_conversation(pk: uuid.UUID) -> Conversation:
    """Return a conversation as it is now, with its profile and its owner."""
    (row,) = _conversation(pk=pk)
    return row


@prepared(pk=models.UUIDField())
def _conversation(pk: uuid.UUID) -> models.QuerySet[Conversation]:
    return Conversation.objects.filter(pk=pk).select_related("profile__summaries_by", "owner")


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
    with transaction.atomic():
        seq = _next_seq(conversation_id)
        row = Message(
            **_columns(message),
            tokens=tokens,
            conversation_id=conversation_id,
            turn=turn,
            seq=seq,
            position=seq,
            stop_reason=stop_reason,
        )
        return insert(row)


def append_many(
    conversation_id: uuid.UUID, messages: Sequence[tuple[condense.Message, int]]
) -> int:
    """Store messages, each with its tokens, at the end, in one statement; return their number."""
    with transaction.atomic():
        first = _next_seq(conversation_id, len(messages)) - len(messages) + 1
        Message.objects.bulk_create(
            Message(
                **_columns(message),
                tokens=tokens,
                conversation_id=conversation_id,
                seq=seq,
                position=seq,
            )
            for seq, (message, tokens) in enumerate(messages, first)
        )
    return len(messages)


def _columns(message: condense.Message) -> dict[str, Any]:
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
        "messages_hidden": sum(not _holds_results(message) for message in said),
        "results_hidden": sum(len(message.tool_results) for message in said),
        "condensations_hidden": len(history) - len(said),
    }


def _next_seq(conversation_id: uuid.UUID, count: int = 1) -> int:
    """Hand out ``count`` numbers and return the last; the row is locked until the commit."""
    _grow(pk=conversation_id, count=count, now=timezone.now())
    (last,) = _last_seq(pk=conversation_id)
    return last


@prepared_update(pk=models.UUIDField(), count=models.IntegerField(), now=models.DateTimeField())
def _grow(pk: uuid.UUID, count: int, now: datetime) -> Change:
    columns = {"last_seq": F("last_seq") + count, "revision": F("revision") + 1, "updated_at": now}
    return Conversation.objects.filter(pk=pk), columns


@prepared(pk=models.UUIDField())
def _last_seq(pk: uuid.UUID) -> models.QuerySet[Conversation, int]:
    return Conversation.objects.filter(pk=pk).values_list("last_seq", flat=True)


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


def _mark_changed(conversation_id: uuid.UUID) -> None:
    """Count a change of what the model sees; what was measured before no longer holds."""
    Conversation.objects.filter(pk=conversation_id).update(
        revision=F("revision") + 1, measured_tokens=None, measured_seq=None
    )


def note_record(conversation_id: uuid.UUID) -> None:
    """Count a new row of the record, which changes nothing of what the model sees."""
    Conversation.objects.filter(pk=conversation_id).update(revision=F("revision") + 1)


def apply_reduction(
    conversation_id: uuid.UUID, reduction: condense.Reduction, *, turn: Turn | None = None
) -> Message:
    """Insert the summary or marker and hide what it stands for, in one transaction.

    A clearing's marker touches no other row: the lines that replace results are its own.
    """
    tags = reduction.message.tags
    with transaction.atomic():
        first = Message.objects.get(pk=reduction.hidden[0])
        last = Message.objects.get(pk=reduction.hidden[-1])
        rows = _visible_span(first, last)
        if tags.condense_id:
            rows.update(hidden=True, condense_parent=tags.condense_id)
        elif tags.truncation_id:
            rows.update(hidden=True, truncation_parent=tags.truncation_id)
        message = Message.objects.create(
            **_columns(reduction.message),
            tokens=reduction.message.tokens or 0,
            conversation_id=conversation_id,
            turn=turn,
            seq=_next_seq(conversation_id),
            position=last.position,
            condense_id=tags.condense_id,
            truncation_id=tags.truncation_id,
            clear_id=tags.clear_id,
            cleared=dict(tags.cleared),
        )
        _behind(first).exclude(named_by([message])).unbind()
        _mark_changed(conversation_id)
    return message


def _behind(first: Message) -> MessageQuerySet:
    """Return what stands behind a message."""
    same_place = Q(position=first.position, seq__gt=first.seq)
    there = Message.objects.filter(conversation=first.conversation_id)
    return there.filter(same_place | Q(position__gt=first.position))


def _visible_span(first: Message, last: Message) -> models.QuerySet[Message]:
    """Return the visible messages from ``first`` to ``last``, both included."""
    before = Q(position=first.position, seq__lt=first.seq)
    after = Q(position=last.position, seq__gt=last.seq)
    return Message.objects.filter(
        ~before,
        ~after,
        conversation=first.conversation_id,
        position__range=(first.position, last.position),
        hidden=False,
    )


def undo_reduction(message: Message) -> None:
    """Take a summary or marker back: what it hid is visible again, unless hidden otherwise.

    The hidden messages keep naming it, for the record; it hides nothing once it is undone.
    """
    with transaction.atomic():
        Message.objects.filter(pk=message.pk).update(undone=True, hidden=True)
        hidden_by(message.conversation_id, [message]).refresh_hidden()
        since = Message.objects.filter(conversation=message.conversation_id, seq__gt=message.seq)
        since.unbind()
        _mark_changed(message.conversation_id)


def hidden_by(conversation_id: uuid.UUID, names: Sequence[Message]) -> MessageQuerySet:
    """Return the messages that name any of these summaries and markers as what hides them."""
    return Message.objects.filter(named_by(names), conversation=conversation_id)


def named_by(names: Sequence[Message]) -> Q:
    """Return the condition that one of these summaries and markers is named by a message."""
    condensed = [row.condense_id for row in names if row.condense_id]
    truncated = [row.truncation_id for row in names if row.truncation_id]
    return Q(condense_parent__in=condensed) | Q(truncation_parent__in=truncated)


def rewind(conversation_id: uuid.UUID, *, to_seq: int, **columns: Any) -> Rewind:
    """Hide message ``to_seq`` and all written since; what was condensed since is back.

    ``columns`` are those of the record that say why.
    """
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=conversation_id)
        affected = rewindable(conversation_id, to_seq)
        record = Rewind.objects.create(
            conversation=conversation,
            to_seq=to_seq,
            last_seq=conversation.last_seq,
            **affected.count_seen(),
            **columns,
        )
        names = list(affected.made_by_engine())
        affected.update(rewind_parent=record.pk, hidden=True)
        _take_along(record)
        record.enter()
        hidden_by(conversation_id, names).refresh_hidden()
        _mark_changed(conversation_id)
    return record


def rewindable(conversation_id: uuid.UUID, to_seq: int) -> MessageQuerySet:
    """Return the messages that a rewind to before message ``to_seq`` hides."""
    return Message.objects.filter(conversation=conversation_id, seq__gte=to_seq, rewind_parent=None)


def _take_along(record: Rewind) -> None:
    """Have a rewind take what else began since, so that it comes back with the messages.

    The other versions of the same place are no part of the one that is set aside.
    """
    tag = {"rewind_parent": record.pk}
    since = {"conversation": record.conversation_id, "rewind_parent": None}
    turns = Turn.objects.filter(**since, at_seq__gte=record.to_seq - 1)
    turns.answering().update(**tag)
    attempts = Condensation.objects.filter(**since, message=None)
    in_turn = Q(turn__rewind_parent=record.pk)
    attempts.filter(Q(at_seq__gte=record.to_seq) | in_turn).update(**tag)
    rewinds = Rewind.objects.filter(**since).exclude(pk=record.pk)
    if record.root_seq is not None:
        rewinds = rewinds.exclude(cause=record.cause, root_seq=record.root_seq)
    was_undone = Q(undone_at__isnull=False, last_seq__gte=record.to_seq)
    rewinds.filter(Q(to_seq__gte=record.to_seq) | was_undone).update(**tag)


def undo_rewind(record: Rewind) -> None:
    """Show again exactly what the rewind hid, and hide again what was condensed then."""
    with transaction.atomic():
        Rewind.objects.filter(pk=record.pk).change(undone_at=timezone.now())
        whole = record.conversation
        for taken in (whole.messages, whole.turns, whole.condensations, whole.rewinds):
            taken.filter(rewind_parent=record.pk).update(rewind_parent=None)
        shown = whole.messages.filter(seq__range=(record.to_seq, record.last_seq))
        made = list(shown.in_force().made_by_engine().order_by("seq"))
        for one in made:
            if one.clear_id is None:
                _name_again(one)
        shown.refresh_hidden()
        hidden_by(record.conversation_id, made).refresh_hidden()
        _mark_changed(record.conversation_id)


def _name_again(made: Message) -> None:
    """Have a summary or marker that is back named by what it hid, where a later one took its place.

    That one was made in another version, and is out of force.
    """
    name = "condense" if made.condense_id else "truncation"
    before = Q(position__lt=made.position) | Q(position=made.position, seq__lt=made.seq)
    earlier = Message.objects.filter(
        before, conversation=made.conversation_id, seq__lt=made.seq
    ).exclude(**{f"{name}_parent": None})
    earlier.shown_by_tags().update(**{f"{name}_parent": getattr(made, f"{name}_id")})


def usage_columns(usage: condense.Usage) -> dict[str, int]:
    """Return a call's usage as the columns of ``ModelCall``."""
    return {f"tokens_{name}": value for name, value in asdict(usage).items()}
