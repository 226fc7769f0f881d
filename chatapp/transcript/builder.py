"""Makes rows of some consecutive messages, in a fixed number of queries."""

import functools
import uuid
from collections.abc import Iterator, Sequence

from django.db.models import Q

import condense
from chatapp.models import Condensation, Conversation, Message, ModelCall, Question, Rewind, store
from chatapp.models.versions import Place, Versions, versions_of
from chatapp.rendering import render_markdown
from chatapp.transcript import labels, queries
from chatapp.transcript.events import Events
from chatapp.transcript.facts import fact_groups, facts_kept
from chatapp.transcript.folding import Placed, fold
from chatapp.transcript.parts import (
    Answer,
    Answers,
    LiveTools,
    asked_of,
    parts_of,
    unfinished_parts,
)
from chatapp.transcript.rows import (
    Asked,
    CallCost,
    CondensationRow,
    ContinuedRow,
    HiddenBy,
    MessageRow,
    Part,
    Row,
    TurnCost,
    VersionChoice,
)

Cursor = tuple[int, int]
_EDITED, _REGENERATED = Rewind.Cause.EDITED, Rewind.Cause.REGENERATED
_CLEARED = Condensation.Kind.CLEARED


class Builder:
    """Builds the rows of some consecutive messages of one conversation."""

    def __init__(self, conversation: Conversation, messages: Sequence[Message]) -> None:
        """Read what the rows need besides the messages themselves."""
        self.conversation = conversation
        self.messages = messages
        self.engine = {row.pk: store.to_engine(row) for row in messages}
        self.answers = self._find_answers()
        self.hiders = self._find_hiders()
        self.turns = self._find_turns()

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

    def _find_answers(self) -> Answers:
        """Return what came of the calls of this page."""
        said, cleared = list(self.engine.values()), self._find_cleared()
        return {
            id(pair.call): Answer(
                pair.result, cleared.get((said[pair.answered_at].id, pair.call.id))
            )
            for pair in condense.pair_calls(said).answered
        }

    def _find_cleared(self) -> dict[tuple[str, str], HiddenBy]:
        """Return why and where results were cleared: message and id of the call → that."""
        if not self.messages:
            return {}
        since = self.messages[0].position
        return {
            (name, call): _hider(row.condensation)
            for row in queries.clearings(conversation=self.conversation.pk, position=since)
            for name, lines in row.cleared.items()
            if int(name) in self.engine
            for call in lines
        }

    @functools.cached_property
    def asked(self) -> dict[int, dict[int, Asked]]:
        """What people are asked now: message → place of the call → that."""
        waiting = {row.turn_id for row in self.messages if row.turn and row.turn.waits}
        if not waiting:
            return {}
        asked: dict[int, dict[int, Asked]] = {}
        for question in Question.objects.pending().filter(turn__in=waiting):
            asked.setdefault(question.seq, {})[question.place] = asked_of(question)
        return asked

    @functools.cached_property
    def rewinds(self) -> list[Rewind]:
        """All rewinds of the conversation, oldest first."""
        return queries.rewinds(conversation=self.conversation.pk)

    @functools.cached_property
    def versions(self) -> dict[Place, Versions]:
        """What edits and other answers have set aside."""
        return versions_of(self.rewinds)

    @functools.cached_property
    def first_fold(self) -> uuid.UUID | None:
        """The first condensation of the conversation, undone or not."""
        return queries.folds.first(conversation=self.conversation.pk)

    def rows(self, upper: Cursor | None, *, is_first: bool) -> list[Row]:
        """Return all rows of the page, what one rewind set aside folded into one row."""
        events = Events(
            self.conversation,
            self.messages,
            first_seq=self.messages[0].position if self.messages and not is_first else None,
            end_seq=upper[0] if upper else None,
        )
        placed = [*self._message_rows(is_last=upper is None), *events.placed(self.rewinds)]
        in_force = [one for one in self.rewinds if one.undone_at is None]
        return fold(placed, in_force, self.versions, is_first=is_first)

    def _message_rows(self, *, is_last: bool) -> Iterator[Placed]:
        newest = self._newest() if is_last else None
        for message in self.messages:
            row = self._row(message, is_newest=message is newest)
            if row is not None:
                yield Placed((message.position, message.seq), row, message.rewind_parent)

    def _newest(self) -> Message | None:
        """Return the message of this page, the last one, that the model goes on from."""
        present = (row for row in self.messages if row.rewind_parent is None)
        said = (row for row in present if not (row.is_summary or row.is_marker))
        return max(said, key=lambda row: row.seq, default=None)

    def _row(self, message: Message, *, is_newest: bool) -> Row | None:
        if message.is_summary or message.is_marker:
            return self._condensation_row(message)
        row = self.message_row(message, is_newest=is_newest)
        has_row = isinstance(row, ContinuedRow) or row.parts
        return row if has_row or message.role == Message.Role.ASSISTANT else None

    def message_row(
        self, message: Message, live: LiveTools | None = None, *, is_newest: bool = False
    ) -> MessageRow | ContinuedRow:
        """Return a message's row; the results of its tools are on its cards."""
        if message.asks_to_continue:
            return self._continued_row(message)
        engine = self.engine[message.pk]
        present, by_user = message.rewind_parent is None, message.role == Message.Role.USER
        rests = message.turn is None or message.turn.is_over
        is_answer = present and rests and not by_user and bool(engine.text)
        return MessageRow(
            id=f"message-{message.seq}",
            seq=message.seq,
            position=message.position,
            role=message.role,
            parts=tuple(self._parts(message, live or {})),
            created_at=message.created_at,
            call=_call_cost(message),
            turn=self._turn_cost(message),
            cut=labels.cut_text(message.stop_reason),
            versions=self._choice(message) if present and (rests or by_user) else None,
            hidden_by=self._hidden_by(message),
            rewindable=present,
            editable=by_user and bool(engine.text) and present,
            continuable=is_answer and message.is_cut and is_newest,
            repeatable=is_answer and not engine.tool_uses,
        )

    def _parts(self, message: Message, live: LiveTools) -> Iterator[Part]:
        call: ModelCall | None = getattr(message, "call", None)
        if call and call.draft:
            return unfinished_parts(call.draft)
        asked = self.asked.get(message.seq, {})
        return parts_of(self.engine[message.pk], self.answers, live, asked)

    def _continued_row(self, message: Message) -> ContinuedRow:
        return ContinuedRow(
            id=f"message-{message.seq}",
            seq=message.seq,
            position=message.position,
            created_at=message.created_at,
            source=self.engine[message.pk].text,
            hidden_by=self._hidden_by(message),
        )

    def _choice(self, message: Message) -> VersionChoice | None:
        """Return the choice of versions that stands at a message, None for most."""
        turn = message.turn
        if message.role == Message.Role.USER:
            edits = (one for (cause, _), one in self.versions.items() if cause == _EDITED)
            known = next((one for one in edits if one.start == message.seq), None)
        elif turn is None:
            answers = (one for (cause, _), one in self.versions.items() if cause == _REGENERATED)
            known = next((one for one in answers if one.start == message.seq), None)
        elif turn.last_seq == message.seq:
            known = self.versions.get((_REGENERATED, turn.question_seq))
        else:
            known = None
        return _choice_of(known) if known else None

    def _turn_cost(self, message: Message) -> TurnCost | None:
        turn = message.turn
        return self.turns.get(turn.pk) if turn and turn.last_seq == message.seq else None

    def _find_turns(self) -> dict[uuid.UUID, TurnCost]:
        """Return what the turns that end on this page took, of those with several calls."""
        ended = {row.turn.pk for row in self.messages if row.turn and row.turn.last_seq == row.seq}
        return {
            turn: TurnCost(calls, tokens_in, tokens_out, cost, measured=not guesses)
            for turn, calls, tokens_in, tokens_out, cost, guesses in queries.sums_of(ended)
            if calls > 1
        }

    def _hidden_by(self, message: Message) -> HiddenBy | None:
        found = map(self.hiders.get, _parents(message) if message.hidden else ())
        return next((_hider(one) for one in found if one and _reaches(one, message)), None)

    def _condensation_row(self, message: Message) -> Row:
        attempt: Condensation | None = getattr(message, "condensation", None)
        if attempt is None:
            # A summary without a record, as imports have them, is shown as the message it is.
            return self.message_row(message)
        undoable = attempt.status == Condensation.Status.SUCCEEDED and not message.hidden
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
            folded=attempt.read_folded(),
            slim=attempt.status == Condensation.Status.UNDONE or attempt.kind == _CLEARED,
            undoable=undoable,
            hidden_by=self._hidden_by(message),
            nudges=undoable and attempt.pk == self.first_fold,
        )


def _parents(message: Message) -> list[uuid.UUID]:
    """Return the ids of what may hide a message, in force or not."""
    return [name for name in (message.condense_parent, message.truncation_parent) if name]


def _reaches(attempt: Condensation, message: Message) -> bool:
    """Whether an attempt hides a message: one that was rewound hides what went with it only."""
    made = attempt.message
    return made is not None and made.rewind_parent in {None, message.rewind_parent}


def _hider(attempt: Condensation) -> HiddenBy:
    made, reason = attempt.message, labels.kind_words(attempt.kind).hidden
    at = f"{made.position}.{made.seq}" if made else ""
    return HiddenBy(reason, f"condensation-{attempt.pk}", at, labels.seen_words(attempt))


def _choice_of(versions: Versions) -> VersionChoice:
    earlier = versions.set_aside(versions.shown - 1)
    later = versions.set_aside(versions.shown + 1)
    return VersionChoice(
        number=versions.shown,
        count=versions.count,
        earlier=earlier.pk if earlier else None,
        later=later.pk if later else None,
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
        seconds_to_first=call.seconds_to_first,
        tokens_per_second=call.tokens_per_second,
        missed=labels.cache_miss(call),
        dropped=len(call.transformations),
        request_id=call.request_id,
    )
