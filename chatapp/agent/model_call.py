"""One call to a model: listened to, and accounted for however it ends."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import condense
from chatapp.agent import events
from chatapp.agent.async_tasks import finish
from chatapp.agent.errors import ProviderError
from chatapp.agent.ports import CallOpening, CallRecord, Journal, PartialReply
from chatapp.agent.provider_port import NO_FACTS, ModelRequest, Provider

REFUSED = "The provider refused a part of the request, and was asked again without it."


@dataclass(slots=True)
class _Block:
    """A block of a reply while it is written."""

    type: str
    names: Mapping[str, str]
    pieces: list[str] = field(default_factory=list)


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
        self.request = replace(request, previous_reply=journal.previous_reply)
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

    async def listen(self) -> AsyncIterator[events.StreamEvent]:
        """Yield what the provider says; a try that is made again is accounted for first.

        A call of whose request it does not tell is put on record, too. Raises what the provider
        raises, and ProviderError where the reply has no end.
        """
        try:
            async for event in self.provider.stream(self.request):
                if isinstance(event, events.SentRequest):
                    if self.number:
                        await finish(self.account(REFUSED))
                    await self._open(event)
                elif not self.number:
                    await self._open()
                self._take(event)
                if isinstance(event, events.RetryScheduled):
                    await finish(self.account(event.reason))
                yield event
        except ProviderError:
            if not self.number:
                await self._open()
            raise
        if self.reply is None:
            raise ProviderError("The stream ended before the reply was complete.")

    async def _open(self, request: events.SentRequest | None = None) -> None:
        """Put on record what is about to be sent."""
        self.usage, self._facts = condense.Usage(), NO_FACTS
        self._started, self._to_first = time.monotonic(), None
        purpose, step = self.request.purpose, self.step
        opening = CallOpening(purpose, self.sent, self.attempt_id, step, request)
        opened = asyncio.ensure_future(self.journal.open_call(opening))
        try:
            self.number = await finish(opened)
        except asyncio.CancelledError:
            await finish(self.journal.withdraw_call(opened.result()))
            raise

    def _take(self, event: events.StreamEvent) -> None:
        """Take in what the provider says; what is written in a block of another kind begins one."""
        last = self._written[-1].type if self._written else ""
        type_ = text = ""
        names: Mapping[str, str] = {}
        match event:
            case events.CallDescribed(facts):
                self._facts = replace(self._facts, **facts)
            case events.ReplyCompleted(usage=usage):
                self.reply, self.usage = event, usage
            case events.UsageReported(usage):
                self.usage = usage
            case events.TextStreamed(text):
                type_ = "text"
            case events.OutputStreamed(text):
                type_ = "tool_use" if last == "tool_use" else "thinking"
            case events.ToolUseStarted(id_, name):
                type_, names = "tool_use", {"id": id_, "name": name}
        if type_:
            if self._to_first is None:
                self._to_first = max(0.0, time.monotonic() - self._started)
            if begins := bool(names) or type_ != last:
                self._written.append(_Block(type_, names))
            self._written[-1].pieces.append(text)
            self.journal.keep_partial_reply(self.number, self.draft, at_once=begins)

    def draft(self) -> PartialReply:
        """Return what was written so far, as it can be stored."""
        for block in self._written:
            # Joined once, and then only what is new.
            block.pieces[:] = ["".join(block.pieces)]
        blocks = [{"type": one.type, **one.names, "text": one.pieces[0]} for one in self._written]
        return PartialReply(blocks, self.usage)

    async def account(self, error: str = "") -> None:
        """Put into the accounts what came of a call that left no message; another may follow."""
        if self.number:
            await self.journal.record_call(self.record(error))
        self.number = 0
        self._written.clear()

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
