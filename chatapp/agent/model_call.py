"""One call to a model: listened to, and accounted for however it ends."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import condense
from chatapp.agent import events
from chatapp.agent.async_tasks import finish
from chatapp.agent.errors import ProviderError
from chatapp.agent.ports import CallOpening, CallRecord, Journal, PartialReply
from chatapp.agent.provider_port import NO_FACTS, ModelRequest, Provider, SentRequest

REFUSED = "The provider refused a part of the request, and was asked again without it."
_WRITTEN = events.TextStreamed | events.OutputStreamed | events.ToolUseStarted


class _Block:
    """A block of a reply while it is written."""

    def __init__(self, type_: str, names: Mapping[str, str]) -> None:
        self.type = type_
        self.names = names
        self.pieces: list[str] = []

    def to_json(self) -> dict[str, str]:
        """Return the block so far; its pieces are joined once, and then only what is new."""
        self.pieces[:] = ["".join(self.pieces)]
        return {"type": self.type, **self.names, "text": self.pieces[0]}


class StreamedCall:
    """A reply while it is written; ``reply`` is set once it is whole."""

    def __init__(
        self,
        provider: Provider,
        request: ModelRequest,
        journal: Journal,
        *,
        sent: Sequence[condense.Message] = (),
        attempt_id: str = "",
        step: int = 0,
    ) -> None:
        """Take who is asked what, and where it is accounted for.

        ``sent`` is the part of the conversation that the request shows, ``attempt_id`` names the
        attempt to condense for which it is made, and ``step`` is its place in the turn.
        """
        self.provider = provider
        self.request = replace(request, previous_reply=journal.previous_reply, observer=self)
        self.journal = journal
        self.sent = sent
        self.attempt_id = attempt_id
        self.step = step
        self.number = 0
        self.reply: events.ReplyCompleted | None = None
        self.usage = condense.Usage()
        self._started = time.monotonic()
        self._written: list[_Block] = []
        self._to_first: float | None = None
        self._facts = NO_FACTS

    async def sending(self, request: SentRequest) -> None:
        """Put what is about to be sent on record; what was sent before it is accounted for."""
        if self.number:
            await self._close(REFUSED)
        await self._open(request)

    def learned(self, **facts: Any) -> None:
        """Keep what the provider says of the call."""
        self._facts = replace(self._facts, **facts)

    async def _open(self, request: SentRequest | None = None) -> None:
        self.usage = condense.Usage()
        self._written.clear()
        self._started = time.monotonic()
        self._to_first, self._facts = None, NO_FACTS
        purpose, step = self.request.purpose, self.step
        opening = CallOpening(purpose, self.sent, self.attempt_id, step, request)

        async def open_it() -> None:
            self.number = await self.journal.open_call(opening)

        try:
            await finish(open_it())
        except asyncio.CancelledError:
            number, self.number = self.number, 0
            await finish(self.journal.withdraw_call(number))
            raise

    async def _close(self, error: str) -> None:
        """Account for a try that came to nothing, and be ready for the next."""
        await finish(self.account(error))
        self.number = 0
        self._written.clear()

    @asynccontextmanager
    async def on_record(self) -> AsyncIterator[None]:
        """Account for the call when the block ends, whichever way it does."""
        failure = "broken off"
        try:
            yield
            failure = ""
        except Exception as error:
            failure = str(error)
            raise
        finally:
            await finish(self.account(failure))

    def draft(self) -> PartialReply:
        """Return what was written so far, as it can be stored."""
        return PartialReply([block.to_json() for block in self._written], self.usage)

    async def listen(self) -> AsyncIterator[events.StreamEvent]:
        """Yield what the provider says; a try that is made again is accounted for first.

        Raises what the provider raises, and ProviderError where the reply has no end.
        """
        async for event in self._heard():
            if self._to_first is None and isinstance(event, _WRITTEN):
                self._to_first = max(0.0, time.monotonic() - self._started)
            match event:
                case events.ReplyCompleted(usage=usage):
                    self.reply, self.usage = event, usage
                case events.UsageReported(usage):
                    self.usage = usage
                case events.TextStreamed(text):
                    self._write("text", text)
                case events.OutputStreamed(text):
                    self._write("tool_use" if self._calls_tool else "thinking", text)
                case events.ToolUseStarted(id, name):
                    self._write("tool_use", "", {"id": id, "name": name})
                case events.RetryScheduled(reason):
                    await self._close(reason)
            yield event
        if self.reply is None:
            raise ProviderError("The stream ended before the reply was complete.")

    async def _heard(self) -> AsyncIterator[events.StreamEvent]:
        """Yield the provider's events; a call of which it did not tell is put on record, too."""
        try:
            async for event in self.provider.stream(self.request):
                if not self.number:
                    await self._open()
                yield event
        except ProviderError:
            if not self.number:
                await self._open()
            raise

    @property
    def _calls_tool(self) -> bool:
        return bool(self._written) and self._written[-1].type == "tool_use"

    def _write(self, type_: str, text: str, names: Mapping[str, str] | None = None) -> None:
        """Take in what was written; a block of another kind begins a new one."""
        begins = not self._written or names is not None or self._written[-1].type != type_
        if begins:
            self._written.append(_Block(type_, names or {}))
        self._written[-1].pieces.append(text)
        self.journal.keep_draft(self.number, self.draft, at_once=begins)

    async def account(self, error: str = "") -> None:
        """Put into the accounts what came of a call that left no message."""
        if self.number:
            await self.journal.record_call(self.record(error))

    def record(self, error: str = "") -> CallRecord:
        """Return what goes into the accounts."""
        return CallRecord(
            purpose=self.request.purpose,
            usage=self.usage,
            seconds=max(0.0, time.monotonic() - self._started),
            number=self.number,
            error=error,
            is_whole=self.reply is not None,
            draft=self.draft(),
            sent=self.sent,
            attempt_id=self.attempt_id,
            seconds_to_first=self._to_first,
            facts=self._facts,
        )
