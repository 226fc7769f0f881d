"""Makes rows of some consecutive messages, in a fixed number of queries."""

import functools
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from chatapp.agent.annotated_blocks import attached, stands_alone
from chatapp.markdown import render_markdown
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Question,
    Rewind,
    message_store,
)
from chatapp.models.versions import Place, Versions, versions_of
from chatapp.transcript import labels, row_queries
from chatapp.transcript.event_rows import Events, Placed, fold
from chatapp.transcript.hidden_by import Hiders
from chatapp.transcript.message_parts import Asked, Part
from chatapp.transcript.part_builder import (
    LiveTools,
    asked_of,
    find_answers,
    parts_of,
    unfinished_parts,
)
from chatapp.transcript.receipts import fact_groups, facts_kept
from chatapp.transcript.rows import (
    CallCost,
    CondensationRow,
    ContinuedRow,
    MessageRow,
    Row,
    TurnCost,
    VersionChoice,
)

Cursor = tuple[int, int]
NOTHING: LiveTools = {}
_EDITED, _REGENERATED = Rewind.Cause.EDITED, Rewind.Cause.REGENERATED
_CLEARED = Condensation.Kind.CLEARED


class Builder:
    """Builds the rows of some consecutive messages of one conversation."""

    def __init__(
        self, conversation: Conversation, messages: Sequence[Message], live: LiveTools = NOTHING
    ) -> None:
        """Read what the rows need besides the messages, and ``live``: what runs has told so far."""
        self.conversation = conversation
        self.messages = messages
        self.live = live
        self.engine = {row.pk: message_store.to_engine(row) for row in messages}
        self.hiders = Hiders(conversation, messages)
        said = list(self.engine.values())
        self.answers = find_answers(messages, said, self.hiders.cleared(), live)
        self.turns = self._find_turns()

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
    def denied(self) -> dict[int, set[int]]:
        """The places of the calls that a person did not allow, by message; few pages have any."""
        turns = {row.turn_id for row in self.messages if row.turn_id}
        denied: dict[int, set[int]] = {}
        if self._has_failed():
            for seq, place in Question.objects.denied_in(turns):
                denied.setdefault(seq, set()).add(place)
        return denied

    def _has_failed(self) -> bool:
        """Whether a call on this page has no good result."""
        stored = (one.result.is_error for one in self.answers.values())
        told = (getattr(one, "is_error", False) for one in self.live.values())
        return any(stored) or any(told)

    @functools.cached_property
    def rewinds(self) -> list[Rewind]:
        """All rewinds of the conversation, oldest first."""
        return row_queries.rewinds(conversation=self.conversation.pk)

    @functools.cached_property
    def versions(self) -> dict[Place, Versions]:
        """What edits and other answers have set aside."""
        return versions_of(self.rewinds)

    @functools.cached_property
    def first_fold(self) -> uuid.UUID | None:
        """The first condensation of the conversation, undone or not."""
        return row_queries.folds.first(conversation=self.conversation.pk)

    @functools.cached_property
    def undone_at_once(self) -> Counter[datetime | None]:
        """How many condensations were undone at each moment, of those that can be redone."""
        undone = Condensation.objects.undone().filter(conversation=self.conversation)
        return Counter(undone.values_list("undone_at", flat=True))

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
        talk = (row for row in said if not stands_alone(self.engine[row.pk]))
        return max(talk, key=lambda row: row.seq, default=None)

    def _row(self, message: Message, *, is_newest: bool) -> Row | None:
        if message.is_summary or message.is_marker:
            return self._condensation_row(message)
        row = self.message_row(message, is_newest=is_newest)
        has_row = isinstance(row, ContinuedRow) or row.parts
        return row if has_row or message.role == Message.Role.ASSISTANT else None

    def message_row(
        self, message: Message, *, is_newest: bool = False
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
            parts=tuple(self._parts(message)),
            created_at=message.created_at,
            call=_call_cost(message),
            turn=self._turn_cost(message),
            cut=labels.cut_text(message.stop_reason),
            versions=self._choice(message) if present and (rests or by_user) else None,
            hidden_by=self.hiders.of(message),
            rewindable=present,
            pinned=present and bool(message.pinned),
            pinned_tokens=message.tokens,
            pinnable=present
            and not message.hidden
            and not (message.is_summary or message.is_marker),
            editable=by_user and present and (bool(engine.words) or any(attached(engine))),
            continuable=is_answer and message.is_cut and is_newest,
            repeatable=is_answer and not engine.tool_uses,
        )

    def _parts(self, message: Message) -> Iterator[Part]:
        call: ModelCall | None = getattr(message, "call", None)
        if call and call.draft:
            return unfinished_parts(call.draft)
        asked = self.asked.get(message.seq, {})
        denied = self.denied.get(message.seq, ())
        return parts_of(self.engine[message.pk], self.answers, self.live, asked, denied)

    def _continued_row(self, message: Message) -> ContinuedRow:
        return ContinuedRow(
            id=f"message-{message.seq}",
            seq=message.seq,
            position=message.position,
            created_at=message.created_at,
            source=self.engine[message.pk].text,
            hidden_by=self.hiders.of(message),
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
            for turn, calls, tokens_in, tokens_out, cost, guesses in row_queries.sums_of(ended)
            if calls > 1
        }

    def _condensation_row(self, message: Message) -> Row:
        attempt: Condensation | None = getattr(message, "condensation", None)
        if attempt is None:
            # A summary without a record, as imports have them, is shown as the message it is.
            return self.message_row(message)
        in_force = attempt.status == Condensation.Status.SUCCEEDED and message.rewind_parent is None
        redoable = attempt.status == Condensation.Status.UNDONE and message.rewind_parent is None
        undoable = in_force and not message.hidden
        return CondensationRow(
            id=f"condensation-{attempt.pk}",
            seq=message.seq,
            position=message.position,
            attempt=attempt,
            summary_html=render_markdown(attempt.summary),
            analysis_html=render_markdown(attempt.analysis),
            words=labels.kind_words(attempt.kind, attempt.strategy),
            hidden_text=labels.hidden_text(attempt),
            trigger_text=labels.trigger_text(attempt),
            saved_percent=labels.saved_percent(attempt),
            facts=fact_groups(attempt.receipt),
            facts_kept=facts_kept(attempt.receipt),
            folded=attempt.read_folded(),
            slim=attempt.status == Condensation.Status.UNDONE or attempt.kind == _CLEARED,
            undoable=undoable,
            rewritable=undoable and attempt.kind == Condensation.Kind.CONDENSED,
            undoable_below=in_force and message.hidden,
            redoable=redoable,
            redone_with=self.undone_at_once[attempt.undone_at] - 1 if redoable else 0,
            hidden_by=self.hiders.of(message),
            nudges=undoable and attempt.pk == self.first_fold,
        )


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
        pk=call.pk,
    )
