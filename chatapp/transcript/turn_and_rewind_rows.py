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
from django.utils.translation import gettext as _

from chatapp.models import Condensation, Conversation, Message, Rewind, Turn
from chatapp.models.versions import Place, Versions
from chatapp.transcript import labels
from chatapp.transcript.rows import FailureRow, RewindRow, Row, TurnRow


@dataclass(frozen=True, slots=True)
class Placed:
    """A row, its place in reading order, and the rewind that took it along.

    The first number of ``key`` is a position, the second one the seq it was written at, halves
    being what happened between two messages.
    """

    key: tuple[float, float]
    row: Row
    rewind: UUID | None = None


def fold(
    placed: Iterable[Placed],
    rewinds: Iterable[Rewind],
    versions: Mapping[Place, Versions],
    *,
    is_first: bool,
) -> list[Row]:
    """Return the rows in reading order, each rewind with all it hides as one row.

    It stands where the first thing that it hides was written. What the rewind hid may begin on an
    earlier page, where this is not the first one.
    """
    held: defaultdict[UUID | None, list[Placed]] = defaultdict(list)
    for one in placed:
        held[one.rewind].append(one)
    # What took another rewind along is younger than that one.
    for rewind in sorted(rewinds, key=lambda one: one.created_at):
        run = sorted(held.pop(rewind.pk, ()), key=lambda one: one.key)
        if run:
            first = min(run, key=lambda one: one.key[1])
            rest = not is_first and first.key[1] > rewind.to_seq and rewind.messages_hidden > 0
            row = _rewind_row(rewind, run, first.row, versions, rest=rest)
            held[rewind.rewind_parent].append(Placed(first.key, row, rewind.rewind_parent))
    return [one.row for one in sorted(held[None], key=lambda one: one.key)]


def _rewind_row(
    rewind: Rewind,
    run: list[Placed],
    first: Row,
    versions: Mapping[Place, Versions],
    *,
    rest: bool,
) -> RewindRow:
    known = versions.get((rewind.cause, rewind.root_seq or 0))
    return RewindRow(
        id=f"rewind-{rewind.pk}-{first.seq}" if rest else f"rewind-{rewind.pk}",
        seq=first.seq,
        position=first.position,
        rewind=rewind,
        name=labels.rewind_name(rewind, known.count if known else 0),
        words=labels.seen_words(rewind),
        undoable=getattr(rewind, "is_undoable", False) and not rest,
        shown=known is not None and rewind.rewind_parent is None and not rest,
        rest=rest,
        slim=rewind.cause != Rewind.Cause.REWOUND,
        rows=tuple(one.row for one in run),
    )


# When it happened, the newest message then, its row, and the rewind that took it along.
_Event = tuple[datetime, int, Row, UUID | None]


class Events:
    """Finds what happened while the messages of one page were written.

    Seqs bound the page, None where it is the first or the last one.
    """

    def __init__(
        self,
        conversation: Conversation,
        messages: Sequence[Message],
        *,
        first_seq: int | None,
        end_seq: int | None,
    ) -> None:
        self.conversation = conversation
        self.messages = messages
        self.first_seq = first_seq
        self.end_seq = end_seq

    def placed(self, rewinds: Iterable[Rewind]) -> Iterator[Placed]:
        """Yield a row for each, after the message that was the newest then."""
        events = [*self._attempts(), *self._turns(), *self._undone(rewinds)]
        for _when, at_seq, row, rewind in sorted(events, key=lambda one: one[0]):
            before = [message.position for message in self.messages if message.seq <= at_seq]
            yield Placed((before[-1] if before else at_seq, at_seq + 0.5), row, rewind)

    def _within[M: models.Model](self, rows: models.QuerySet[M], column: str) -> models.QuerySet[M]:
        """Return the rows whose ``column`` is a seq of this page."""
        bounds: dict[str, Any] = {}
        if self.first_seq is not None:
            bounds[f"{column}__gte"] = self.first_seq
        if self.end_seq is not None:
            bounds[f"{column}__lt"] = self.end_seq
        return rows.filter(**bounds)

    def _attempts(self) -> Iterator[_Event]:
        """Yield attempts that left no message."""
        running = Condensation.Status.RUNNING
        found = self._within(self.conversation.condensations.all(), "at_seq")
        attempts = list(found.exclude(status=running).order_by("started_at"))
        for number, attempt in enumerate(attempts):
            if attempt.message_id is None and not labels.is_unremarkable(attempt):
                row = _failure_row(attempt, attempts[number:])
                yield attempt.started_at, attempt.at_seq, row, attempt.rewind_parent

    def _turns(self) -> Iterator[_Event]:
        """Yield turns that ended without an answer that says so itself."""
        ended = Q(status__in=Turn.UNDONE) | ~Q(error="")
        turns = self.conversation.turns.answering()
        found = self._within(turns.filter(ended), "last_seq")
        newest = turns.in_force().newest()
        cut = [row for row in self.messages if row.is_continuable]
        says_so = {row.turn_id for row in cut if row.stop_reason == "stopped"}
        is_cut = {row.turn_id for row in cut}
        for turn in found.exclude(finished_at=None):
            if turn.pk not in says_so:
                row = _turn_row(turn, is_newest=turn == newest, is_cut=turn.pk in is_cut)
                yield turn.finished_at or turn.started_at, row.seq, row, turn.rewind_parent

    def _undone(self, rewinds: Iterable[Rewind]) -> Iterator[_Event]:
        """Yield rewinds that were taken back; going between versions is told by the versions."""
        first, end = self.first_seq or 0, self.end_seq
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


def _failure_row(attempt: Condensation, later: list[Condensation]) -> FailureRow:
    failed = attempt.status == Condensation.Status.FAILED
    other = labels.made_instead(attempt, later)
    return FailureRow(
        attempt=attempt,
        id=f"condensation-{attempt.pk}",
        seq=attempt.at_seq,
        position=attempt.at_seq,
        failed=failed,
        instead=labels.instead_text(other) if failed or other else "",
        repeatable=attempt.scope is not None or attempt.strategy not in labels.OF_A_PART,
        scope=json.dumps(attempt.scope or {}),
    )


def _turn_row(turn: Turn, *, is_newest: bool, is_cut: bool) -> TurnRow:
    """Return a turn's row; how the newest can be taken up depends on how it ended."""
    seq = turn.at_seq if turn.last_seq is None else turn.last_seq
    commands: tuple[str, ...] = ("turn.retry",) if is_newest else ()
    if is_newest and turn.status == Turn.Status.SUCCEEDED:
        commands = ("turn.continue",)
    elif is_newest and turn.status == Turn.Status.INTERRUPTED and not is_cut:
        # An answer that was cut is continued where it ends.
        commands = ("turn.continue", "turn.retry")
    return TurnRow(
        id=f"turn-{turn.pk}",
        seq=seq,
        position=seq,
        turn=turn,
        name=labels.turn_name(turn),
        reason=turn.error or _("You stopped it here."),
        failed=turn.status in {Turn.Status.FAILED, Turn.Status.INTERRUPTED},
        commands=commands,
    )
