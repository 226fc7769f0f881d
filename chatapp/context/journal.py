"""The agent's journal, kept in the database: what was said, and every model call."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from asgiref.sync import sync_to_async
from django.db import transaction

import condense
from chatapp.agent.ports import CallRecord, Purpose
from chatapp.context import budgets
from chatapp.context.runs import Run
from chatapp.context.saving import Saver
from chatapp.context.sizes import Scale, sum_tokens
from chatapp.models import Message, ModelCall, store


@dataclass(frozen=True, slots=True)
class _Entry:
    """A call as it goes into the accounts.

    ``usage`` is ``measured`` where the provider reported all of it; ``estimate`` is what the prompt
    was thought to take, before calibration, and ``media`` what images and PDFs took of that.
    """

    call: CallRecord
    usage: condense.Usage
    measured: bool
    estimate: int | None = None
    media: int = 0

    @property
    def tells_size(self) -> bool:
        """Whether the context's size is known from it."""
        return self.call.is_whole and self.measured and self.usage.total > 0


class StoredJournal:
    """The agent's ``Journal`` over one conversation; ``scale`` learns from each call."""

    def __init__(self, run: Run, scale: Scale, saver: Saver) -> None:
        """Take the run whose calls and messages are kept."""
        self.run = run
        self.scale = scale
        self.saver = saver

    async def effective_history(self) -> Sequence[condense.Message]:
        """Return what the model sees, in reading order."""
        return await sync_to_async(store.read_effective)(self.run.conversation.pk)

    async def append(
        self,
        message: condense.Message,
        *,
        stop_reason: str = "",
        call: CallRecord | None = None,
    ) -> condense.Message:
        """Store a message, with the call that wrote it, and return it with its seq."""
        tokens = await asyncio.to_thread(condense.count_message, message, budgets.COUNTER)
        entry = await self._entry(call) if call else None
        row = await self.saver.save(self._append, message, tokens, stop_reason, entry)
        if entry and entry.tells_size:
            self._learn(entry, row.seq)
        return store.to_engine(row)

    def _append(
        self, message: condense.Message, tokens: int, stop_reason: str, entry: _Entry | None
    ) -> Message:
        run = self.run
        with transaction.atomic():
            row = store.append_message(
                run.conversation.pk, message, tokens=tokens, turn=run.turn, stop_reason=stop_reason
            )
            if entry:
                self._record(entry, row)
                if entry.tells_size:
                    store.remember_measurement(
                        run.conversation.pk, run.profile.pk, entry.usage.total, row.seq
                    )
        return row

    async def record_call(self, call: CallRecord) -> None:
        """Account for a call that left no message."""
        await self.saver.save(self._record, await self._entry(call))

    def _record(self, entry: _Entry, message: Message | None = None) -> None:
        run, call = self.run, entry.call
        ModelCall.objects.create(
            **store.usage_columns(entry.usage),
            usage_measured=entry.measured,
            conversation_id=run.conversation.pk,
            turn=run.turn,
            message=message,
            condensation_id=uuid.UUID(call.attempt_id) if call.attempt_id else None,
            purpose=call.purpose,
            profile_name=run.profile.name,
            model=run.profile.model,
            tokens_estimated=entry.estimate,
            tokens_media=entry.media,
            cost=run.profile.prices.cost(entry.usage),
            seconds=call.seconds,
            error=call.error,
        )

    async def _entry(self, call: CallRecord) -> _Entry:
        """Return a call with what has to be estimated: the prompt, and an unreported reply."""
        usage = call.usage
        measured = _is_measured(call)
        if call.streamed and not measured:
            written = await asyncio.to_thread(budgets.COUNTER.count, call.streamed)
            usage = replace(usage, output=max(usage.output, written))
        if call.purpose is not Purpose.CHAT:
            return _Entry(call, usage, measured)
        estimate = self.scale.overhead + sum_tokens(call.sent)
        return _Entry(call, usage, measured, estimate, condense.count_media(call.sent))

    def _learn(self, entry: _Entry, seq: int) -> None:
        self.scale.measure(entry.usage.total, seq)
        if entry.estimate is not None:
            self.scale.observe(entry.estimate, entry.usage.prompt, media=entry.media)


def _is_measured(call: CallRecord) -> bool:
    """Whether the provider reported all that a call used; a call that got nowhere used nothing."""
    if not call.is_whole:
        return not (call.usage.total or call.streamed)
    return bool(call.usage.output) or not call.streamed
