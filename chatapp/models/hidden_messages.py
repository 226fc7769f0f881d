"""Hidden messages: tags hide them from the model, and can show them again; rows stay.

``condense.history`` does the same on values in memory; a property test compares the two.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

import condense
from chatapp.agent.annotated_blocks import forgotten_by, renamed_by, stands_alone
from chatapp.models import Condensation, Conversation, Message, Pin, Rewind, Turn, message_store
from chatapp.models.database import lock
from chatapp.models.meanings import delete_vectors
from chatapp.models.message_store import columns_of, mark_changed, next_seq
from chatapp.models.messages import MessageQuerySet


def apply_reduction(
    conversation_id: uuid.UUID, reduction: condense.Reduction, *, turn: Turn | None = None
) -> Message:
    """Insert the summary or marker, hide its messages in one transaction, and return its row."""
    # A clearing's marker touches no other row: the lines that replace results are its own.
    tags = reduction.message.tags
    with transaction.atomic():
        lock(Conversation, conversation_id)
        first = Message.objects.get(pk=reduction.hidden[0])
        last = Message.objects.get(pk=reduction.hidden[-1])
        visible = Message.objects.filter(conversation=conversation_id, hidden=False)
        rows = visible.span((first.position, first.seq), (last.position, last.seq + 1))
        if tags.clear_id:
            rows = rows.filter(pk__in=tags.cleared)
        hides = runs_of(rows.order_by("seq").values_list("seq", flat=True))
        _hide(rows, tags)
        message = Message.objects.create(
            **columns_of(reduction.message),
            tokens=reduction.message.tokens or 0,
            conversation_id=conversation_id,
            turn=turn,
            seq=next_seq(conversation_id),
            position=last.position,
            condense_id=tags.condense_id,
            truncation_id=tags.truncation_id,
            clear_id=tags.clear_id,
            cleared=dict(tags.cleared),
            hides=hides,
        )
        _behind(first).exclude(named_by([message])).stop_sending_thinking()
        mark_changed(conversation_id)
    return message


def _hide(rows: models.QuerySet[Message], tags: Message | condense.Tags) -> None:
    """Hide messages by the tag that names their summary or marker; a clearing hides none."""
    if tags.condense_id:
        rows.update(hidden=True, condense_parent=tags.condense_id)
    elif tags.truncation_id:
        rows.update(hidden=True, truncation_parent=tags.truncation_id)


def runs_of(seqs: Iterable[int]) -> list[list[int]]:
    """Return ascending numbers as the first and the last of each run without a gap."""
    runs: list[list[int]] = []
    for seq in seqs:
        if runs and seq == runs[-1][1] + 1:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    return runs


def _behind(first: Message) -> MessageQuerySet:
    """Return the messages of the same conversation that follow this one."""
    there = Message.objects.filter(conversation=first.conversation_id)
    return there.span((first.position, first.seq + 1))


def undo_reduction(message: Message) -> None:
    """Undo a summary or marker: its messages are visible again, unless hidden otherwise."""
    # The hidden messages keep naming it, for the record; it hides nothing once it is undone.
    with transaction.atomic():
        Message.objects.filter(pk=message.pk).update(undone=True, hidden=True)
        hidden_by(message.conversation_id, [message]).refresh_hidden()
        since = Message.objects.filter(conversation=message.conversation_id, seq__gt=message.seq)
        since.stop_sending_thinking()
        mark_changed(message.conversation_id)


def redo_reduction(message: Message) -> bool:
    """Redo an undone summary or marker; return False if that is impossible.

    It is possible if all of its messages are visible again, and nothing else stands between them.
    """
    hid = Message.objects.hid_by(message)
    with transaction.atomic():
        seqs = {*hid.values_list("seq", flat=True)}
        visible = message_store.read_effective(message.conversation_id)
        places = [place for place, one in enumerate(visible) if one.seq in seqs]
        span = len(places) if message.clear_id or not places else places[-1] - places[0] + 1
        if not places or not len(seqs) == len(places) == span:
            return False
        _hide(hid, message)
        own = Message.objects.filter(pk=message.pk)
        own.update(undone=False)
        own.refresh_hidden()
        first = Message.objects.get(pk=visible[places[0]].id)
        _behind(first).exclude(pk__in=hid).exclude(pk=message.pk).stop_sending_thinking()
        mark_changed(message.conversation_id)
    return True


def hidden_by(conversation_id: uuid.UUID, names: Sequence[Message]) -> MessageQuerySet:
    """Return the messages whose tags name any of these summaries and markers."""
    return Message.objects.filter(named_by(names), conversation=conversation_id)


def named_by(names: Sequence[Message]) -> Q:
    """Return the condition that a message's tags name one of these summaries and markers."""
    condensed = [row.condense_id for row in names if row.condense_id]
    truncated = [row.truncation_id for row in names if row.truncation_id]
    return Q(condense_parent__in=condensed) | Q(truncation_parent__in=truncated)


def hiders_of(message: Message) -> list[Message]:
    """Return the summaries and markers in force that hide a message, and those that hide these."""
    in_force = Message.objects.in_force().filter(conversation=message.conversation_id)
    found, behind = list[Message](), [message]
    while behind:
        condensed = Q(condense_id__in={row.condense_parent for row in behind})
        truncated = Q(truncation_id__in={row.truncation_parent for row in behind})
        behind = [*in_force.filter(condensed | truncated)]
        found += behind
    return found


def rewind(conversation_id: uuid.UUID, first_hidden_seq: int, **columns: Any) -> Rewind:
    """Hide message ``first_hidden_seq`` and all written since, and return the record of it.

    Messages condensed since are visible again. ``columns`` are those of the record with its cause.
    """
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update(no_key=True).get(pk=conversation_id)
        affected = rewindable(conversation_id, first_hidden_seq)
        record = Rewind.objects.create(
            conversation=conversation,
            to_seq=first_hidden_seq,
            last_seq=conversation.last_seq,
            **affected.count_seen(),
            **columns,
        )
        names = list(affected.made_by_engine())
        affected.update(rewind_parent=record.pk, hidden=True)
        _take_along(record)
        record.enter()
        hidden_by(conversation_id, names).refresh_hidden()
        refresh_forgotten(conversation_id)
        mark_changed(conversation_id)
    return record


def rewindable(conversation_id: uuid.UUID, first_hidden_seq: int) -> MessageQuerySet:
    """Return the messages that a rewind would hide: ``first_hidden_seq`` and all since.

    Rules and passages that were pinned since are no part of the talk, and stay.
    """
    later = Message.objects.filter(conversation=conversation_id, rewind_parent=None)
    pinned = later.filter(seq__gt=first_hidden_seq, pinned=True)
    stay = [row.pk for row in pinned if stands_alone(message_store.to_engine(row))]
    return later.filter(seq__gte=first_hidden_seq).exclude(pk__in=stay)


def _take_along(record: Rewind) -> None:
    """Tag the turns, attempts and rewinds since, so that they are restored with the messages."""
    # Rewinds of other versions of the same place are no part of the one that is set aside.
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
    """Show the messages that the rewind hid, and hide again those that were condensed then."""
    with transaction.atomic():
        Rewind.objects.filter(pk=record.pk).change(undone_at=timezone.now())
        conversation = record.conversation
        tagged = {"conversation": conversation, "rewind_parent": record.pk}
        for model in (Message, Turn, Condensation, Rewind):
            model.objects.filter(**tagged).update(rewind_parent=None)
        shown = conversation.messages.filter(seq__range=(record.to_seq, record.last_seq))
        made = list(shown.in_force().made_by_engine().order_by("seq"))
        for one in made:
            if one.clear_id is None:
                _name_again(one)
        shown.refresh_hidden()
        hidden_by(record.conversation_id, made).refresh_hidden()
        refresh_forgotten(record.conversation_id)
        mark_changed(record.conversation_id)


def not_taken_back(conversation_id: uuid.UUID) -> MessageQuerySet:
    """Return the messages that are not rewound, and those that a client itself has replaced."""
    # They can still be found, and what they forget stays forgotten.
    replaced = Rewind.objects.filter(conversation=conversation_id, cause=Rewind.Cause.REPLACED)
    there = Q(rewind_parent=None) | Q(rewind_parent__in=replaced.values("pk"))
    return Message.objects.filter(there, conversation=conversation_id)


def refresh_forgotten(conversation_id: uuid.UUID, asking: Message | None = None) -> None:
    """Derive each message's forgotten passages from all requests that are not rewound.

    The new request ``asking`` is included. Pins on forgotten passages are removed. A title that a
    request replaced is back once that is rewound, unless somebody gave another.
    """
    own = Message.objects.filter(conversation=conversation_id)
    tagged = Q(forgotten__isnull=False) | Q(pk=asking and asking.pk)
    wanted, steps = defaultdict[int, list[str]](list), list[tuple[str, str]]()
    present = {*not_taken_back(conversation_id).filter(tagged).values_list("pk", flat=True)}
    for row in own.filter(tagged).order_by("seq"):
        old, new = renamed_by(row.content)
        if row.pk not in present:
            steps.insert(0, (new, old))
            continue
        steps.append((old, new))
        for seq, text in forgotten_by(row.content):
            wanted[seq].append(text)
    for there, then in steps:
        if there != then:
            Conversation.objects.filter(pk=conversation_id, title=there).update(title=then[:200])
    changed = [
        row
        for row in own.filter(tagged | Q(seq__in=[*wanted])).order_by("position", "seq")
        if row.forgotten != wanted[row.seq]
    ]
    for row in changed:
        Message.objects.filter(pk=row.pk).update(forgotten=wanted[row.seq])
    if changed:
        delete_vectors([row.pk for row in changed])
        pins = Pin.objects.in_force(conversation_id).filter(message__forgotten__isnull=False)
        off = [pin for pin in pins if wanted[pin.seq]]
        Message.objects.filter(pin__in=off).update(pinned=None)
        pins.filter(pk__in=[pin.pk for pin in off]).change(unpinned_at=timezone.now())
        _behind(changed[0]).stop_sending_thinking()


def _name_again(made: Message) -> None:
    """Tag the messages of a summary or marker with its name again, after undoing a rewind.

    One that was made in the meantime, and is out of force now, may have put its own name there.
    """
    name = "condense" if made.condense_id else "truncation"
    hid = all_behind(made).shown_by_tags()
    hid.update(**{f"{name}_parent": getattr(made, f"{name}_id")})


def all_behind(made: Message) -> MessageQuerySet:
    """Return the messages that a summary or marker hid, and the originals of undone ones of them.

    These are hidden with it if they were undone while it was rewound.
    """
    hid = found = Message.objects.hid_by(made)
    for undone in hid.made_by_engine().filter(undone=True, clear_id=None):
        found |= all_behind(undone)
    return found
