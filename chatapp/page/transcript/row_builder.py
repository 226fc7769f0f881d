"""Rows of some consecutive messages, made in a fixed number of queries."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from django.db.models import Q, prefetch_related_objects

import condense
from chatapp.agent import events
from chatapp.agent.annotated_blocks import attached, kind_of, stands_alone, text_of
from chatapp.conversations.context.sizes import room_in
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Question,
    Rewind,
    ToolRun,
    message_store,
)
from chatapp.models.messages import Cursor
from chatapp.models.versions import Place, Versions, versions_of
from chatapp.page.transcript import labels
from chatapp.page.transcript.message_parts import (
    Answers,
    CallResult,
    HiddenBy,
    LiveTool,
    LiveTools,
    Part,
    ToolCard,
    parts_of,
    unfinished_parts,
)
from chatapp.page.transcript.rows import (
    CondensationRow,
    ContinuedRow,
    MessageRow,
    Row,
    TurnCost,
    VersionChoice,
    hider,
    recalled_part,
)
from chatapp.page.transcript.turn_and_rewind_rows import Placed, fold, place_events, turn_costs

# Related rows that a message's row shows.
SHOWN_WITH = ("call", "condensation", "turn")


def rewinds_of(conversation_id: uuid.UUID) -> list[Rewind]:
    """Return all rewinds with ``is_undoable``, oldest first."""
    rows = Rewind.objects.filter(conversation=conversation_id)
    return [*rows.with_undoable().order_by("created_at")]


ToolEvents = Mapping[str, events.ToolStarted | events.ToolFinished]


def live_tools(told: ToolEvents) -> LiveTools:
    """Return the state of each call of a running turn, by its events."""
    runs = [one.run for one in told.values() if isinstance(one, events.ToolFinished)]
    texts = dict(ToolRun.objects.filter(pk__in=runs).values_list("pk", "text")) if runs else {}
    return {
        call: LiveTool("running", one.output, since=one.since)
        if isinstance(one, events.ToolStarted)
        else LiveTool(
            "failed" if one.is_error else "done", texts.get(one.run, ""), seconds=one.seconds
        )
        for call, one in told.items()
    }


def live_row(conversation: Conversation, seq: int, told: ToolEvents) -> MessageRow | ContinuedRow:
    """Return one message's row with the output of its running tools so far.

    Of the conversation only the key is needed.
    """
    live = live_tools(told)
    messages = message_store.row_and_next(conversation.pk, seq)
    # A turn of ours runs in no other.
    conversation.writer, message = None, messages[0]
    asks: Any = message
    rewinds = rewinds_of(conversation.pk) if asks.has_rewinds else []
    turns = _costs_of([message]) if asks.has_more_calls else {}
    builder = Builder(conversation, messages, rewinds, turns, live)
    return builder.message_row(message, is_newest=len(messages) == 1)


def page_rows(
    conversation: Conversation, messages: Sequence[Message], upper: Cursor | None, *, is_first: bool
) -> list[Row]:
    """Return the rows of a page; the rows that a rewind set aside are folded into one."""
    rewinds = rewinds_of(conversation.pk)
    builder = Builder(conversation, messages, rewinds, _costs_of(messages), live={})
    first = messages[0].position if messages and not is_first else None
    events = place_events(
        conversation, messages, rewinds, first=first, end=upper[0] if upper else None
    )
    placed = [*builder.placed(is_last=upper is None), *events]
    in_force = [one for one in rewinds if one.undone_at is None]
    return fold(
        placed, in_force, builder.versions, is_first=is_first, fixed=bool(conversation.writer)
    )


def _costs_of(messages: Sequence[Message]) -> dict[uuid.UUID, TurnCost]:
    """Return the cost of each turn that ends here and has several calls."""
    ends = [row.turn_id for row in messages if row.turn and row.turn.last_seq == row.seq]
    return turn_costs([turn for turn in ends if turn])


class Builder:
    """Builds the rows of some consecutive messages of one conversation.

    ``rewinds`` are all of the conversation, ``turns`` the costs of those that end here, and
    ``live`` the states of running tools.
    """

    def __init__(
        self,
        conversation: Conversation,
        messages: Sequence[Message],
        rewinds: Sequence[Rewind],
        turns: Mapping[uuid.UUID, TurnCost],
        live: LiveTools,
    ) -> None:
        self.conversation = conversation
        self.messages = messages
        self.turns = turns
        self.live = live
        self.writer = conversation.writer
        self.engine = {row.pk: message_store.to_engine(row, whole=True) for row in messages}
        self.versions: dict[Place, Versions] = versions_of(rewinds) if rewinds else {}
        self.has_calls = bool([one for one in self.engine.values() if one.tool_uses])
        self.answers: Answers = self._find_answers() if self.has_calls else {}

    def placed(self, *, is_last: bool) -> Iterator[Placed]:
        """Yield the messages that have a row."""
        # The message of the last page that the model goes on from.
        talk = [
            row
            for row in self.messages
            if is_last and not (row.rewind_parent or row.is_summary or row.is_marker)
            if not stands_alone(self.engine[row.pk])
        ]
        newest = max(talk, key=lambda row: row.seq, default=None)
        for message in self.messages:
            row: Row
            if message.is_summary or message.is_marker:
                row = self._condensation_row(message)
            else:
                row = self.message_row(message, is_newest=message is newest)
                # A message of nothing but results is shown on the cards of the calls.
                is_bare = isinstance(row, MessageRow) and not (row.parts or row.recalled)
                if is_bare and message.role == Message.Role.USER:
                    continue
            yield Placed((message.position, message.seq), row, message.rewind_parent)

    def message_row(
        self, message: Message, *, is_newest: bool = False
    ) -> MessageRow | ContinuedRow:
        """Return a message's row; the results of its tools are on its cards."""
        engine, turn = self.engine[message.pk], message.turn
        place: dict[str, Any] = {
            "id": f"message-{message.seq}",
            "seq": message.seq,
            "position": message.position,
            "created_at": message.created_at,
            "hidden_by": self._hidden_by(message) if message.hidden else None,
        }
        if message.asks_to_continue:
            return ContinuedRow(**place, source=engine.text)
        by_user = message.role == Message.Role.USER
        call: ModelCall | None = None if by_user else getattr(message, "call", None)
        parts = tuple(unfinished_parts(call.draft) if call and call.draft else self._parts(message))
        present = message.rewind_parent is None
        own = present and not self.writer
        rests = turn is None or turn.is_over
        shows = engine.text or any(isinstance(b, condense.ImageBlock) for b in engine.blocks)
        is_answer = own and rests and not by_user and bool(shows)
        ends_turn = turn is not None and turn.last_seq == message.seq
        cost = self.turns.get(turn.pk) if turn and ends_turn else None
        shows_versions = self.versions and own and (rests or by_user)
        return MessageRow(
            **place,
            role=message.role,
            parts=parts,
            recalled=recalled_part(engine),
            around="\n".join(
                [text_of(one) for one in engine.blocks if kind_of(one) == condense.ENVIRONMENT]
            ),
            call=call,
            missed=labels.cache_miss(call) if call and call.cache_miss else "",
            turn=cost,
            is_step=cost is None
            and self.has_calls
            and any(isinstance(part, ToolCard) for part in parts),
            cut=labels.cut_text(message.stop_reason),
            versions=self._choice(message) if shows_versions else None,
            rewindable=own,
            pinned=present and bool(message.pinned),
            pinned_tokens=message.tokens,
            pinnable=own and not message.hidden and not (message.is_summary or message.is_marker),
            editable=by_user and own and (bool(engine.words) or any(attached(engine))),
            continuable=is_answer and message.is_continuable and is_newest,
            repeatable=is_answer and not engine.tool_uses,
        )

    def _parts(self, message: Message) -> Iterator[Part]:
        engine = self.engine[message.pk]
        if not self.has_calls:
            return parts_of(engine, {}, {}, {})
        asked, denied = self._asked.get(message.seq, {}), self._denied[message.seq]
        unfinished = message.turn is not None and not message.turn.is_over
        return parts_of(engine, self.answers, self.live, asked, denied, unfinished=unfinished)

    @cached_property
    def _asked(self) -> dict[int, dict[int, Question]]:
        """The pending questions: message → place of the call → question."""
        waiting = {row.turn_id for row in self.messages if row.turn and row.turn.waits}
        asked: defaultdict[int, dict[int, Question]] = defaultdict(dict)
        for question in Question.objects.pending().filter(turn__in=waiting) if waiting else ():
            asked[question.seq][question.place] = question
        return asked

    @cached_property
    def _denied(self) -> defaultdict[int, set[int]]:
        """The places of the calls that a person did not allow, by message; few pages have any."""
        turns = {row.turn_id for row in self.messages if row.turn_id}
        failed = [one.result.is_error for one in self.answers.values()]
        failed += [one.state == "failed" for one in self.live.values()]
        denied: defaultdict[int, set[int]] = defaultdict(set)
        found = Question.objects.filter(turn__in=turns, status=Question.Status.DENIED)
        for seq, place in found.values_list("seq", "place") if any(failed) else ():
            denied[seq].add(place)
        return denied

    def _choice(self, message: Message) -> VersionChoice | None:
        """Return the choice of versions that stands at a message, None for most."""
        by_user, turn = message.role == Message.Role.USER, message.turn
        if by_user or turn is None:
            cause = Rewind.Cause.EDITED if by_user else Rewind.Cause.REGENERATED
            at = [one for (why, _), one in self.versions.items() if why == cause]
            known = next((one for one in at if one.start == message.seq), None)
        elif turn.last_seq == message.seq:
            known = self.versions.get((Rewind.Cause.REGENERATED, turn.question_seq))
        else:
            known = None
        if known is None:
            return None
        earlier, later = known.set_aside(known.shown - 1), known.set_aside(known.shown + 1)
        root = known.rewinds[0]
        return VersionChoice(
            place=f"{root.cause}-{root.root_seq}",
            number=known.shown,
            count=known.count,
            earlier=earlier.pk if earlier else None,
            later=later.pk if later else None,
        )

    def _condensation_row(self, message: Message) -> Row:
        attempt = self._attempts.get(message.pk)
        if attempt is None:
            # A summary without a record, as imports have them, is shown as the message it is.
            return self.message_row(message)
        present = message.rewind_parent is None
        in_force = attempt.status == Condensation.Status.SUCCEEDED and present
        is_undone = attempt.status == Condensation.Status.UNDONE
        undoable = attempt.is_undoable
        is_fold = attempt.kind == Condensation.Kind.CONDENSED
        # Messages that this undone one has hidden may be hidden by another now.
        behind = [one for one in self.messages if is_undone and one.hidden and message.hid(one)]
        hidden_by = next(filter(None, map(self._hidden_by, (message, *behind))), None)
        built_on = [self._attempts[one.pk] for one in behind if one.pk in self._attempts]
        is_whole = all(one.undone_at == attempt.undone_at for one in built_on)
        return CondensationRow(
            attempt=attempt,
            id=f"condensation-{attempt.pk}",
            seq=message.seq,
            position=message.position,
            words=labels.kind_words(attempt.kind, attempt.strategy),
            slim=is_undone or attempt.kind == Condensation.Kind.CLEARED,
            undoable=undoable,
            rewritable=undoable and attempt.kind != Condensation.Kind.CLEARED,
            fits=undoable and self._room >= (attempt.tokens_before - (attempt.tokens_after or 0)),
            undoable_below=in_force and message.hidden,
            redoable=is_undone and present and is_whole and not hidden_by,
            redone_with=self._undone_at[attempt.undone_at] - 1 if is_undone and present else 0,
            hidden_by=hidden_by if message.hidden else None,
            nudges=undoable and is_fold and self._is_first(attempt),
            named_window=self._named_window(attempt),
        )

    @cached_property
    def _room(self) -> float:
        """The tokens that still fit now."""
        return room_in(self.conversation)

    def _named_window(self, attempt: Condensation) -> int | None:
        """Return the window that the provider named if it is smaller than the profile's."""
        talk, is_forced = self.conversation, attempt.trigger == Condensation.Trigger.FORCED
        is_named = is_forced and attempt.context_window == talk.named_window
        return talk.named_window if is_named and talk.answering is not talk.profile else None

    @cached_property
    def _attempts(self) -> dict[int, Condensation]:
        """The attempts of this page's summaries and markers, by message, with their tries."""
        made = [row.condensation for row in self.messages if hasattr(row, "condensation")]
        prefetch_related_objects(made, "tries")
        return {one.message_id: one for one in made if one.message_id}

    @cached_property
    def _undone_at(self) -> Counter[Any]:
        """The number of condensations undone at each moment, of those that can be redone."""
        undone = Condensation.objects.undone().filter(conversation=self.conversation)
        return Counter(undone.values_list("undone_at", flat=True))

    def _is_first(self, attempt: Condensation) -> bool:
        """Return True if this person had none before that left a summary, undone or not."""
        owner = Conversation.objects.filter(pk=self.conversation.pk).values("owner")
        return not Condensation.objects.filter(
            conversation__owner__in=owner,
            kind=Condensation.Kind.CONDENSED,
            message__isnull=False,
            started_at__lt=attempt.started_at,
        ).exists()

    def _hidden_by(self, message: Message) -> HiddenBy | None:
        """Return the condensation behind a hidden message, None if none hides it."""
        for name in (message.condense_parent, message.truncation_parent):
            attempt = self._hiders.get(name) if name else None
            made = attempt.message if attempt else None
            if attempt and made and made.rewind_parent in {None, message.rewind_parent}:
                return hider(attempt)
        return None

    @cached_property
    def _hiders(self) -> dict[uuid.UUID | None, Condensation]:
        """The attempts that hide messages of this page: id on the tag → the attempt's record."""
        parents = [(row.condense_parent, row.truncation_parent) for row in self.messages]
        names = {name for pair in parents for name in pair if name}
        rows = Condensation.objects.filter(
            Q(message__condense_id__in=names) | Q(message__truncation_id__in=names),
            conversation=self.conversation,
            message__undone=False,
        ).select_related("message")
        return {
            row.message.condense_id or row.message.truncation_id: row for row in rows if row.message
        }

    def _find_answers(self) -> Answers:
        """Return the answers to the calls of this page; ``live`` has the durations of its own."""
        pairs = condense.pair_calls([*self.engine.values()]).answered
        if not pairs:
            return {}
        messages, cleared = self.messages, self._cleared()
        turns = {messages[one.called_at].turn_id for one in pairs if one.call.id not in self.live}
        runs: defaultdict[Any, list[ToolRun]] = defaultdict(list)
        for run in ToolRun.objects.filter(turn__in=turns - {None}, finished_at__isnull=False):
            runs[run.turn_id, run.call_id].append(run)
        answers: dict[int, CallResult] = {}
        for one in pairs:
            called, answered = messages[one.called_at], messages[one.answered_at]
            # The same id may come again in a later reply of the turn.
            took = [
                (run.finished_at - run.started_at).total_seconds()
                for run in runs[called.turn_id, one.call.id]
                if run.finished_at and called.created_at <= run.started_at <= answered.created_at
            ]
            reason = cleared.get((answered.pk, one.call.id))
            answers[id(one.call)] = CallResult(one.result, reason, took[0] if took else None)
        return answers

    def _cleared(self) -> dict[tuple[int, str], HiddenBy]:
        """Return the reasons of cleared results, by the message's key and the call's id."""
        # The markers of clearings that are in force.
        made = Message.objects.filter(
            conversation=self.conversation.pk, clear_id__isnull=False, hidden=False
        ).select_related("condensation")
        return {
            (int(name), call): hider(row.condensation)
            for row in made.filter(position__gte=self.messages[0].position)
            # An import may have one without its record.
            if hasattr(row, "condensation")
            for name, lines in row.cleared.items()
            if int(name) in self.engine
            for call in lines
        }
