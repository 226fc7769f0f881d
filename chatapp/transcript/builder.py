"""Makes rows of some consecutive messages, in a fixed number of queries."""

import itertools
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from chatapp.models import Condensation, Conversation, Message, ModelCall, Rewind, store
from chatapp.rendering import render_markdown
from chatapp.transcript import labels
from chatapp.transcript.facts import fact_groups, facts_kept
from chatapp.transcript.parts import Cleared, LiveTools, Results, parts_of
from chatapp.transcript.rows import (
    CallCost,
    CondensationRow,
    FailureRow,
    HiddenBy,
    MessageRow,
    RewindRow,
    Row,
    TurnCost,
)

Cursor = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Placed:
    """Something to show, and where in reading order it stands."""

    key: tuple[float, float]
    row: Row
    rewind: uuid.UUID | None = None


class Builder:
    """Builds the rows of some consecutive messages of one conversation."""

    def __init__(self, conversation: Conversation, messages: Sequence[Message]) -> None:
        """Read what the rows need besides the messages themselves."""
        self.conversation = conversation
        self.messages = messages
        self.engine = {row.pk: store.to_engine(row) for row in messages}
        self.results: Results = {
            result.tool_use_id: result
            for message in self.engine.values()
            for result in message.tool_results
        }
        self.hiders = self._find_hiders()
        self.cleared = self._find_cleared()
        self.turns = self._find_turns()
        self.rewinds = self._find_rewinds()

    def _find_hiders(self) -> dict[uuid.UUID, Condensation]:
        """Return what hides messages of this page: id on the tag → the attempt's record."""
        names = {name for row in self.messages for name in _parents(row)}
        if not names:
            return {}
        rows = Condensation.objects.filter(
            Q(message__condense_id__in=names) | Q(message__truncation_id__in=names),
            conversation=self.conversation,
            message__undone=False,
        ).select_related("message")
        return {
            name: row
            for row in rows
            if row.message and (name := row.message.condense_id or row.message.truncation_id)
        }

    def _find_cleared(self) -> Cleared:
        """Return what cleared results of this page: id of the call → why and where."""
        if not self.messages:
            return {}
        markers = Message.objects.filter(
            conversation=self.conversation,
            clear_id__isnull=False,
            hidden=False,
            position__gte=self.messages[0].position,
        )
        made = markers.select_related("condensation")
        return {
            call: _hider(row.condensation)
            for row in made
            for name, lines in row.cleared.items()
            if int(name) in self.engine
            for call in lines
        }

    def rows(self, upper: Cursor | None, *, is_first: bool) -> list[Row]:
        """Return all rows of the page, rewound ones folded into one row a rewind."""
        placed = [*self._message_rows(), *self._failures(upper, is_first=is_first)]
        placed.sort(key=lambda one: one.key)
        return list(self._fold(placed))

    def _message_rows(self) -> Iterator[_Placed]:
        for message in self.messages:
            row = self._row(message)
            if row is not None:
                yield _Placed((message.position, message.seq), row, message.rewind_parent)

    def _row(self, message: Message) -> Row | None:
        if message.is_summary or message.is_marker:
            return self._condensation_row(message)
        row = self.message_row(message)
        return row if row.parts or message.role == Message.Role.ASSISTANT else None

    def message_row(self, message: Message, live: LiveTools | None = None) -> MessageRow:
        """Return a message's row; the results of its tools are on its cards."""
        engine = self.engine[message.pk]
        by_user = message.role == Message.Role.USER
        return MessageRow(
            id=f"message-{message.seq}",
            seq=message.seq,
            position=message.position,
            role=message.role,
            parts=tuple(parts_of(engine, self.results, self.cleared, live or {})),
            created_at=message.created_at,
            source=engine.text,
            call=_call_cost(message),
            turn=self._turn_cost(message),
            stop_reason=message.stop_reason,
            hidden_by=self._hidden_by(message),
            rewindable=message.rewind_parent is None,
            editable=by_user and bool(engine.text) and message.rewind_parent is None,
        )

    def _turn_cost(self, message: Message) -> TurnCost | None:
        turn = message.turn
        return self.turns.get(turn.pk) if turn and turn.last_seq == message.seq else None

    def _find_turns(self) -> dict[uuid.UUID, TurnCost]:
        """Return what the turns that end on this page took, of those with several calls."""
        ended = {row.turn_id for row in self.messages if row.turn and row.turn.last_seq == row.seq}
        if not ended:
            return {}
        sums = ModelCall.objects.filter(turn__in=ended).per_turn()
        return {name: TurnCost(**numbers) for name, numbers in sums if numbers["calls"] > 1}

    def _hidden_by(self, message: Message) -> HiddenBy | None:
        found = map(self.hiders.get, _parents(message) if message.hidden else ())
        return next((_hider(one) for one in found if one and _reaches(one, message)), None)

    def _condensation_row(self, message: Message) -> CondensationRow | MessageRow:
        attempt: Condensation | None = getattr(message, "condensation", None)
        if attempt is None:
            # A summary without a record, as imports have them, is shown as the message it is.
            return self.message_row(message)
        return CondensationRow(
            id=f"condensation-{attempt.pk}",
            seq=message.seq,
            position=message.position,
            attempt=attempt,
            summary_html=render_markdown(attempt.summary),
            analysis_html=render_markdown(attempt.analysis),
            words=labels.kind_words(attempt.kind),
            hidden_text=labels.hidden_text(attempt),
            trigger_text=labels.trigger_text(attempt),
            saved_percent=labels.saved_percent(attempt),
            facts=fact_groups(attempt.receipt),
            facts_kept=facts_kept(attempt.receipt),
            undoable=attempt.status == Condensation.Status.SUCCEEDED and not message.hidden,
            hidden_by=self._hidden_by(message),
        )

    def _failures(self, upper: Cursor | None, *, is_first: bool) -> Iterator[_Placed]:
        """Yield attempts that left no message, after the message that was newest then."""
        ended = (Condensation.Status.FAILED, Condensation.Status.CANCELLED)
        # That there was too little to clear is on record, and nobody has to act on it.
        unremarkable = Condensation.Kind.CLEARED
        rows = Condensation.objects.filter(conversation=self.conversation)
        if self.messages and not is_first:
            rows = rows.filter(at_seq__gte=self.messages[0].position)
        if upper:
            rows = rows.filter(at_seq__lt=upper[0])
        attempts = list(rows.order_by("started_at"))
        for number, attempt in enumerate(attempts):
            if attempt.status in ended and attempt.kind != unremarkable:
                key, rewind = self._place_of(attempt)
                yield _Placed(key, _failure_row(attempt, attempts[number:]), rewind)

    def _place_of(self, attempt: Condensation) -> tuple[tuple[float, float], uuid.UUID | None]:
        """Return where a failure stands: before what was written since, rewound with its place."""
        before = [row for row in self.messages if row.seq <= attempt.at_seq]
        if not before:
            return (attempt.at_seq, attempt.at_seq), None
        key = (before[-1].position, attempt.at_seq + 0.5)
        parent = before[-1].rewind_parent
        went_too = parent and attempt.started_at < self.rewinds[parent].created_at
        return key, parent if went_too else None

    def _fold(self, placed: Iterable[_Placed]) -> Iterator[Row]:
        """Yield rows, each run of rows that one rewind hides as one row."""
        latest = (one for one in self.rewinds.values() if one.undoable)
        undoable = max(latest, default=None, key=_age)
        for rewind_id, run in itertools.groupby(placed, key=lambda one: one.rewind):
            rows = tuple(one.row for one in run)
            if rewind_id is None:
                yield from rows
                continue
            rewind = self.rewinds[rewind_id]
            yield RewindRow(
                id=f"rewind-{rewind.pk}-{rows[0].seq}",
                seq=rows[0].seq,
                position=rows[0].position,
                rewind=rewind,
                undoable=rewind == undoable,
                rows=rows,
            )

    def _find_rewinds(self) -> dict[uuid.UUID, Rewind]:
        """Return the rewinds that hide messages of this page, and the latest one."""
        names = {row.rewind_parent for row in self.messages} - {None}
        if not names:
            return {}
        rows = self.conversation.rewinds.filter(undone_at=None).select_related("conversation")
        return {row.pk: row for row in rows}


def _parents(message: Message) -> list[uuid.UUID]:
    """Return the ids of what may hide a message, in force or not."""
    return [name for name in (message.condense_parent, message.truncation_parent) if name]


def _reaches(attempt: Condensation, message: Message) -> bool:
    """Whether an attempt hides a message: one that was rewound hides what went with it only."""
    made = attempt.message
    return made is not None and made.rewind_parent in {None, message.rewind_parent}


def _hider(attempt: Condensation) -> HiddenBy:
    made = attempt.message
    at = f"{made.position}.{made.seq}" if made else ""
    return HiddenBy(labels.kind_words(attempt.kind).hidden, f"condensation-{attempt.pk}", at)


def _age(rewind: Rewind) -> datetime:
    return rewind.created_at


def _failure_row(attempt: Condensation, later: list[Condensation]) -> FailureRow:
    return FailureRow(
        id=f"condensation-{attempt.pk}",
        seq=attempt.at_seq,
        position=attempt.at_seq,
        attempt=attempt,
        name=labels.outcome_name(attempt.kind, attempt.status),
        trigger_text=labels.trigger_text(attempt),
        instead=labels.instead_text(labels.made_instead(attempt, later)),
    )


def _call_cost(message: Message) -> CallCost | None:
    call = getattr(message, "call", None)
    if call is None:
        return None
    cached = call.tokens_cache_read + call.tokens_cache_write
    return CallCost(
        tokens_in=call.tokens_input + cached,
        tokens_cached=call.tokens_cache_read,
        tokens_out=call.tokens_output,
        cost=call.cost,
        seconds=call.seconds,
        model=call.model,
        measured=call.usage_measured,
    )
