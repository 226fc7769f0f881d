"""The agent's journal, kept in the database: messages, every model call and every tool."""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, Protocol

from django.db import transaction
from django.utils import timezone

import condense
from chatapp.agent.annotated_blocks import result_block
from chatapp.agent.async_tasks import compute
from chatapp.agent.errors import TurnEndedElsewhere
from chatapp.agent.ports import CallOpening, CallRecord, Purpose, ReplyReader, ToolOutcome
from chatapp.conversations.context import sizes
from chatapp.conversations.context.sizes import Scale, sum_tokens
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.models import Conversation, Message, ModelCall, Question, ToolRun, Turn, message_store
from chatapp.models.database import (
    SqlStatement,
    changing,
    insert,
    lock,
    next_key,
    now,
    row_locks,
    together,
)
from chatapp.models.fields import sentences_in
from chatapp.models.processes import this_process
from chatapp.models.spending import check_spending_of, read_limits
from chatapp.project.telemetry import note_call
from chatapp.storage.partial_replies import RetriedWrites, kept_draft, partial_replies
from chatapp.storage.request_log import RecordedRun, RequestLog

# Purposes of calls to the profile that writes summaries.
_WRITERS = frozenset({Purpose.SUMMARY, Purpose.CHECK})


@dataclass(frozen=True, slots=True)
class _Entry:
    """A call for the accounts."""

    call: CallRecord
    usage: condense.Usage
    measured: bool  # no part of the usage is estimated
    size: int  # context with the reply, in tokens; 0 if unknown


_DROP_PIECES = "DELETE FROM chatapp_draftpiece WHERE call_id = %s"


class TurnEnding(Protocol):
    """The end of a turn, as ``chatapp.turns.lifecycle.TurnEnd`` has it."""

    def looking(self) -> list[SqlStatement]:
        """Return the queries before the end is stored; ``let_follow`` gets the last two results."""

    def storing(self) -> SqlStatement:
        """Return the statement that stores the end."""

    def let_follow(self, waits: bool, asked: list[Any], /) -> None:
        """Enqueue the follow-ups of the end."""


class Calls(NamedTuple):
    """The tie of calls to a turn."""

    in_turn: bool = True  # they are closed with it
    goes_on: bool = True  # opening one notes the turn's activity
    keeps_parts: bool = True  # the text of a reply that breaks off is kept
    in_attempt: bool = True  # they name the record of their condensation


OF_TURN = Calls()


class ConversationJournal:
    """The agent's ``Journal`` over one conversation; ``scale`` learns from each call."""

    # Makes the end of a turn, which is stored with its last reply.
    ending: Callable[[], TurnEnding] | None = None
    # The newest call, as it was stored when it was opened.
    opened: ModelCall

    def __init__(
        self, run: TurnContext, scale: Scale, saver: RetriedWrites, calls: Calls = OF_TURN
    ) -> None:
        self.run = run
        self.calls = calls
        self.scale = scale
        self.saver = saver
        self.requests = RequestLog(run.conversation.pk)
        self.previous_reply = scale.reply
        # The effective history at the start, if it was read already.
        self.first: Sequence[condense.Message] | None = None

    async def effective_history(self) -> Sequence[condense.Message]:
        """Return the effective history, in reading order."""
        first, self.first = self.first, None
        return await self.saver.read(self.read_history) if first is None else first

    def read_history(self) -> Sequence[condense.Message]:
        """Return the effective history, from the database's thread."""
        return self.learn(message_store.effective_rows(self.run.conversation.pk))

    def learn(self, rows: Sequence[Message]) -> Sequence[condense.Message]:
        """Return the effective history in its rows, from which later requests are copied."""
        self.requests.learn(rows)
        return condense.effective_history([message_store.to_engine(row) for row in rows])

    async def open_call(self, opening: CallOpening) -> int:
        """Put a call on record before it is made, and return its number.

        Raises SpendingLimitReached, and TurnEnded if the turn goes on but ended elsewhere.
        """
        self.opened, self.requests.written = await self.saver.save(self._open_call, opening)
        return self.opened.pk

    def _open_call(self, opening: CallOpening) -> tuple[ModelCall, RecordedRun]:
        run, sent, is_answer = self.run, opening.sent, opening.purpose is Purpose.CHAT
        profile = run.writer if opening.purpose in _WRITERS else run.profile
        goes = []
        if self.calls.goes_on:
            doing = Turn.Doing.CALLING if is_answer else Turn.Doing.CONDENSING
            goes = [run.turn.go_on.query(doing, step=opening.step if is_answer else None)]
        pk, compared = run.conversation.pk, self.requests.compare(opening.request)
        size, known = self.scale.overhead + sum_tokens(sent), 0
        if profile == run.profile and profile.spec.caches_prompts:
            known = min(size, self.scale.measured_tokens or 0)
        attempt = opening.attempt_id if self.calls.in_attempt else None
        with transaction.atomic():
            *_done, limits, key, stored = together(
                *row_locks(Conversation, pk), *goes, read_limits.query(pk), next_key(ModelCall),
                self.requests.looking(compared),
            )  # fmt: skip
            check_spending_of(run.conversation, run.preferences, limits)
            call = ModelCall(
                pk=key,
                conversation_id=pk,
                turn=run.turn if self.calls.in_turn else None,
                owner=None if self.calls.goes_on else this_process(),
                # The database's clock measures calls outside a turn.
                created_at=timezone.now() if self.calls.goes_on else now(),
                condensation_id=uuid.UUID(attempt) if attempt else None,
                purpose=opening.purpose,
                profile_name=profile.name,
                provider=profile.provider,
                model=profile.model,
                usage_measured=False,
                tokens_estimated=size if is_answer else None,
                tokens_media=condense.count_media(sent) if is_answer else 0,
                cost=profile.cost_of(condense.Usage(size - known, cache_read=known)),
            )
            written = self.requests.store(call, opening.request, compared, stored)
        return call, written

    def _hold(self, number: int = 0) -> None:
        """Hold the turn that goes on, so that the transaction may write; forget the call if not."""
        try:
            if self.calls.goes_on:
                self.run.turn.hold()
        except TurnEndedElsewhere:
            partial_replies.forget(number)
            raise

    def keep_partial_reply(self, number: int, read: ReplyReader, *, at_once: bool) -> None:
        """Store a call's reply so far, soon or ``at_once``; returns immediately."""
        if self.calls.keeps_parts:
            turn = self.run.turn if self.calls.in_turn else None
            partial_replies.keep(number, read, turn=turn, at_once=at_once)

    async def withdraw_call(self, number: int) -> None:
        """Take a call off the record that is not made after all."""
        await self.saver.save(self._withdraw, number)
        self.requests.written = RecordedRun()

    def _withdraw(self, number: int) -> None:
        with transaction.atomic():
            lock(Conversation, self.run.conversation.pk)
            self._hold(number)
            ModelCall.objects.filter(pk=number).delete()

    async def open_tool(self, call: condense.ToolUseBlock) -> int:
        """Put a tool on record before it runs, and return the run's number."""
        return await self.saver.save(self._open_tool, call)

    def _open_tool(self, call: condense.ToolUseBlock) -> int:
        with transaction.atomic():
            self.run.turn.go_on(Turn.Doing.USING_TOOLS)
            run: ToolRun = insert(ToolRun(turn=self.run.turn, call_id=call.id, name=call.name))
        return run.pk

    async def close_tool(self, number: int, outcome: ToolOutcome) -> None:
        """Keep a tool's result, until the message with all results is stored."""
        await self.saver.save(self._close_tool, number, outcome, timezone.now())

    def _close_tool(self, number: int, outcome: ToolOutcome, finished: datetime) -> None:
        with transaction.atomic():
            self._hold()
            ToolRun.objects.filter(pk=number).update(
                text=outcome.text, is_error=outcome.is_error, finished_at=finished
            )

    async def results(self, reply: condense.Message) -> Sequence[condense.ToolResultBlock]:
        """Return the results of a reply's first calls, as far as they were kept.

        Those of another turn were interrupted, and are not run in this one.
        """
        return await self.saver.read(self._results, reply)

    def _results(self, reply: condense.Message) -> Sequence[condense.ToolResultBlock]:
        written = Message.objects.filter(turn=self.run.turn, seq=reply.seq).first()
        if written is None:
            text = condense.INTERRUPTED
            return [condense.ToolResultBlock(one.id, text, True) for one in reply.tool_uses]
        runs = ToolRun.objects.filter(turn=self.run.turn, started_at__gte=written.created_at)
        done = runs.exclude(finished_at=None).order_by("pk")
        # Calls run one after the other, so the first results belong to the first calls.
        said = Question.objects.answers_to(self.run.turn, reply.seq)
        return [
            result_block(call, run.text, is_error=run.is_error, words=said.get(place, ""))
            for place, (call, run) in enumerate(zip(reply.tool_uses, done, strict=False))
        ]

    async def append(
        self, message: condense.Message, *, stop_reason: str = "", call: CallRecord | None = None
    ) -> condense.Message:
        """Store a message, with the call that wrote it, and return it with its seq."""
        tokens = await compute([message.content], condense.count_message, message, sizes.COUNTER)
        entry = await self._entry(call) if call else None
        row = await self.saver.save(self._append, message, tokens, stop_reason, entry)
        self.requests.learn([row])
        if entry and entry.size:
            self.scale.measure(entry.size, row.seq)
            self.previous_reply = entry.call.facts.reply_id
            opened = self.opened
            if opened.tokens_estimated is not None:
                prompt, media = entry.usage.prompt, opened.tokens_media
                self.scale.observe(opened.tokens_estimated, prompt, media=media)
        return message_store.to_engine(row)

    def _append(
        self, message: condense.Message, tokens: int, stop_reason: str, entry: _Entry | None
    ) -> Message:
        try:
            return self._store(message, tokens, stop_reason, entry)
        except TurnEndedElsewhere:
            # The connection may have broken after the commit, and this is the next try.
            stored = Message.objects.filter(turn=self.run.turn, call__status="succeeded")
            row = stored.filter(call=entry.call.number).first() if entry else None
            if row is None:
                partial_replies.forget(entry.call.number if entry else 0)
                raise
            return row

    def _store(
        self, message: condense.Message, tokens: int, stop_reason: str, entry: _Entry | None
    ) -> Message:
        run, pk = self.run, self.run.conversation.pk
        measured = (run.profile.pk, entry.size) if entry and entry.size else None
        is_last = entry is not None and entry.call.is_whole and not message.tool_uses
        end = self.ending() if self.ending and is_last else None
        columns = {"tokens": tokens, "turn": run.turn, "stop_reason": stop_reason}
        with transaction.atomic():
            # The conversation is locked by its change, as the end of a turn locks it first.
            seq, key, *found = together(
                message_store.next_seq.query(pk, measured),
                next_key(Message),
                *([run.turn.hold.query()] if self.calls.goes_on else ()),
                *(end.looking() if end else ()),
            )
            row = message_store.new_row(pk, message, seq, key, **columns)
            writes: list[SqlStatement | Callable[[], SqlStatement]] = [*message_store.storing(row)]
            if entry:
                dropping = SqlStatement(_DROP_PIECES, [entry.call.number])
                writes += [partial(self._recorded, entry, row), dropping]
            if end:
                writes.append(end.storing())
            together(*writes)
            if message.tool_results:
                # The message has the results now; the copies in the runs are not needed any more.
                ToolRun.objects.filter(turn=run.turn).exclude(text="").update(text="")
            if end:
                end.let_follow(*found[-2:])
        return row

    def remember_measurement(self, tokens: int, seq: int) -> None:
        """Keep the provider's token count up to message ``seq``."""
        run = self.run
        with run.turn.holding():
            message_store.remember_measurement(run.conversation.pk, run.profile.pk, tokens, seq)

    async def record_call(self, call: CallRecord) -> None:
        """Account for a call that left no message."""
        await self.saver.save(self._record_alone, await self._entry(call))

    def _record_alone(self, entry: _Entry) -> None:
        with transaction.atomic():
            lock(Conversation, self.run.conversation.pk)
            self._hold(entry.call.number)
            together(self._recorded(entry), SqlStatement(_DROP_PIECES, [entry.call.number]))

    def _recorded(self, entry: _Entry, message: Message | None = None) -> SqlStatement:
        """Return the statement for a call's end; it raises TurnEnded if another process has."""
        call, status = entry.call, ModelCall.Status
        outcome = status.SUCCEEDED if call.is_whole else status.FAILED
        profile = self.run.writer if call.purpose in _WRITERS else self.run.profile
        cost = profile.cost_of(entry.usage)
        change = changing(
            ModelCall,
            call.number,
            " AND status = 'running'",
            **message_store.usage_columns(entry.usage),
            usage_measured=entry.measured,
            status=outcome,
            draft=kept_draft(call.draft) if message and not call.is_whole else "",
            message=message,
            cost=cost,
            seconds=call.seconds,
            seconds_to_first=call.seconds_to_first,
            error=call.error,
            sentences=sentences_in(call.error),
            request_id=call.facts.request_id,
            reply_id=call.facts.reply_id,
            cache_miss=call.facts.cache_miss,
            tokens_missed=call.facts.missed_tokens,
            transformations=[*call.facts.transformations],
        )

        def take(_columns: tuple[str, ...], rows: list[Any]) -> None:
            if not rows:
                partial_replies.forget(call.number)
                raise TurnEndedElsewhere(
                    condense.noop("Another process of the server ended this turn.")
                )
            transaction.on_commit(partial(partial_replies.forget, call.number))
            transaction.on_commit(partial(note_call, call.purpose, outcome, entry.usage, cost))

        return replace(change, take=take)

    async def _entry(self, call: CallRecord) -> _Entry:
        """Return a call with estimates of its prompt and reply in place of missing usage."""
        usage, written = call.usage, call.draft.written
        # A call that broke off has used more than was reported, unless it was refused.
        nothing = not (call.is_whole or call.is_given_up or written or usage.total)
        reported = usage.prompt and (call.is_whole or call.is_reported)
        measured = (bool(usage.output) or not written) if reported else nothing
        if written and not (usage.output if call.is_whole else measured):
            tokens = await asyncio.to_thread(sizes.COUNTER.count, written)
            usage = replace(usage, output=max(usage.output, tokens))
        if not (nothing or usage.prompt):
            # Some servers report the tokens of a prompt at the end, or never.
            tokens = await asyncio.to_thread(sum_tokens, call.sent)
            usage = replace(usage, input=self.scale.overhead + tokens)
        return _Entry(call, usage, measured, usage.total if call.is_whole and measured else 0)
