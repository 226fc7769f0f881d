"""Events between messages: attempts without a message, turns that failed, undone rewinds."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Q

from chatapp.models import Condensation, Conversation, Message, ModelCall, Rewind, Turn
from chatapp.models.condensations import CondensationQuerySet
from chatapp.models.turns import TurnQuerySet
from chatapp.models.versions import Place, Versions
from chatapp.page.transcript import labels
from chatapp.page.transcript.rows import (
    FailureRow,
    RewindRow,
    Row,
    TurnCost,
    TurnFigures,
    TurnRow,
)
from chatapp.project.languages import in_words
from chatapp.project.sentences import translate as _


@dataclass(frozen=True, slots=True)
class Placed:
    """A row, its place in reading order, and the rewind that set it aside, if any."""

    key: tuple[float, float]  # position, and seq at its writing; halves are events between messages
    row: Row
    rewind: UUID | None = None


def fold(
    placed: Iterable[Placed],
    rewinds: Iterable[Rewind],
    versions: Mapping[Place, Versions],
    *,
    is_first: bool,
    fixed: bool = False,
) -> list[Row]:
    """Return the rows in reading order, each rewind with all it hides as one row.

    Its place is that of the first message that it hides. Hidden messages may begin on an earlier
    page, unless this is the first one. None of them can be shown again here if they are ``fixed``.
    """
    held: defaultdict[UUID | None, list[Placed]] = defaultdict(list)
    for one in placed:
        held[one.rewind].append(one)
    # A rewind that took another one along is younger than that one.
    for rewind in sorted(rewinds, key=lambda one: one.created_at):
        run = sorted(held.pop(rewind.pk, ()), key=lambda one: one.key)
        if not run:
            continue
        first = min(run, key=lambda one: one.key[1])
        rest = not is_first and first.key[1] > rewind.to_seq and rewind.messages_hidden > 0
        known = versions.get((rewind.cause, rewind.root_seq or 0))
        row = RewindRow(
            id=f"rewind-{rewind.pk}-{first.row.seq}" if rest else f"rewind-{rewind.pk}",
            seq=first.row.seq,
            position=first.row.position,
            rewind=rewind,
            name=labels.rewind_name(rewind, known.count if known else 0),
            words=labels.seen_words(rewind),
            undoable=getattr(rewind, "is_undoable", False) and not (rest or fixed),
            shown=known is not None and not (rewind.rewind_parent or rest or fixed),
            rest=rest,
            slim=rewind.cause != Rewind.Cause.REWOUND,
            rows=tuple(one.row for one in run),
        )
        held[rewind.rewind_parent].append(Placed(first.key, row, rewind.rewind_parent))
    return [one.row for one in sorted(held[None], key=lambda one: one.key)]


# When it happened, the newest message then, its row, and the rewind that took it along.
_Event = tuple[datetime, int, Row, UUID | None]


def place_events(
    conversation: Conversation,
    messages: Sequence[Message],
    rewinds: Iterable[Rewind],
    *,
    first: int | None,
    end: int | None,
) -> Iterator[Placed]:
    """Yield a row for each event that happened while the messages of one page were written.

    Each stands after the message that was the newest then. The seqs ``first`` and ``end`` bound the
    page, None if it is the first or the last one.
    """
    attempts = _within(conversation.condensations.all(), "at_seq", first, end)
    turns = _within(conversation.turns.answering(), "last_seq", first, end)
    undone = _undone(rewinds, first or 0, end)
    events = [*_attempts(attempts), *_turns(conversation, turns, messages), *undone]
    for _when, at_seq, row, rewind in sorted(events, key=lambda one: one[0]):
        before = [message.position for message in messages if message.seq <= at_seq]
        yield Placed((before[-1] if before else at_seq, at_seq + 0.5), row, rewind)


def _within[Rows: models.QuerySet[Any]](
    rows: Rows, column: str, first: int | None, end: int | None
) -> Rows:
    """Return the rows whose ``column`` is a seq of this page."""
    bounds = {f"{column}__gte": first, f"{column}__lt": end}
    return rows.filter(**{name: seq for name, seq in bounds.items() if seq is not None})


def _attempts(found: CondensationQuerySet) -> Iterator[_Event]:
    """Yield attempts that left no message, and that no other one replaced."""
    for attempt in found.whole().prefetch_related("tries").order_by("started_at"):
        is_running = attempt.status == Condensation.Status.RUNNING
        if not (attempt.message_id or is_running or labels.is_unremarkable(attempt)):
            row = FailureRow(
                attempt=attempt,
                id=f"condensation-{attempt.pk}",
                seq=attempt.at_seq,
                position=attempt.at_seq,
                failed=attempt.status == Condensation.Status.FAILED,
                repeatable=attempt.scope is not None or attempt.strategy not in labels.OF_A_PART,
                scope=json.dumps(attempt.scope or {}),
            )
            yield attempt.started_at, attempt.at_seq, row, attempt.rewind_parent


def _turns(
    conversation: Conversation, found: TurnQuerySet, messages: Sequence[Message]
) -> Iterator[_Event]:
    """Yield turns that ended without an answer that says so itself."""
    newest = conversation.turns.answering().in_force().newest()
    cut = {row.turn_id: row.stop_reason for row in messages if row.is_continuable}
    ended = found.filter(Q(status__in=Turn.UNDONE) | ~Q(error="")).exclude(finished_at=None)
    shown = [turn for turn in ended if cut.get(turn.pk) != "stopped"]
    figures = _figures([turn.pk for turn in shown])
    for turn in shown:
        # The ways to take up the newest turn depend on its end.
        commands: tuple[str, ...] = ("turn.retry",) if turn == newest else ()
        if turn == newest and turn.status == Turn.Status.SUCCEEDED:
            commands = ("turn.continue",)
        elif turn == newest and turn.status == Turn.Status.INTERRUPTED and turn.pk not in cut:
            # An answer that was cut is continued where it ends.
            commands = ("turn.continue", "turn.retry")
        if conversation.writer:
            commands = ()
        seq = turn.at_seq if turn.last_seq is None else turn.last_seq
        row = TurnRow(
            id=f"turn-{turn.pk}",
            seq=seq,
            position=seq,
            turn=turn,
            name=labels.turn_name(turn),
            reason=in_words(turn.error) or _("You stopped it here."),
            failed=turn.status in {Turn.Status.FAILED, Turn.Status.INTERRUPTED},
            figures=figures.get(turn.pk),
            commands=commands,
        )
        yield turn.finished_at or turn.started_at, seq, row, turn.rewind_parent


def _figures(turns: Sequence[UUID]) -> dict[UUID, TurnFigures]:
    """Return the figures of turns without a message for their last paid answer."""
    calls = ModelCall.objects.filter(turn__in=turns, purpose=ModelCall.Purpose.CHAT)
    last = {call.turn_id: call for call in calls.order_by("pk")} if turns else {}
    unseen = {
        turn: call
        for turn, call in last.items()
        if turn and not call.message_id and (call.tokens_prompt or call.tokens_output)
    }
    costs = turn_costs([*unseen])
    return {
        turn: TurnFigures(f"turn-{turn}", call, costs.get(turn)) for turn, call in unseen.items()
    }


def turn_costs(turns: Sequence[UUID]) -> dict[UUID, TurnCost]:
    """Return the costs of those of these turns that have several calls."""
    found = ModelCall.objects.filter(turn__in=turns).per_turn() if turns else ()
    return {
        turn: TurnCost(calls, tokens_in, tokens_out, None if unknown else cost, not guesses)
        for turn, calls, tokens_in, tokens_out, cost, guesses, unknown in found
        if calls > 1
    }


def _undone(rewinds: Iterable[Rewind], first: int, end: int | None) -> Iterator[_Event]:
    """Yield undone rewinds, except changes between versions, which the versions show."""
    for one in rewinds:
        here = one.last_seq >= first and (end is None or one.last_seq < end)
        if here and one.undone_at and one.root_seq is None:
            row = RewindRow(
                id=f"rewind-{one.pk}",
                seq=one.last_seq,
                position=one.last_seq,
                rewind=one,
                name=labels.rewind_name(one),
                words=labels.seen_words(one),
                slim=True,
            )
            yield one.created_at, one.last_seq, row, one.rewind_parent
