"""Model calls: their events, partial replies and records; summaries are such calls, too."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import condense
from chatapp.agent import events
from chatapp.agent.async_tasks import finish
from chatapp.agent.errors import ProviderError, SpendingLimitReached
from chatapp.agent.ports import (
    NO_FACTS,
    Audience,
    CallOpening,
    CallRecord,
    Journal,
    ModelRequest,
    PartialReply,
    Provider,
    Purpose,
    ToolSpec,
)
from condense import noop

THINKING = "thinking"
# The type of block that an event's text is of; some of them begin one.
PIECES: Mapping[type, str] = {
    events.TextStreamed: "text",
    events.ThinkingStarted: THINKING,
    events.ThinkingStreamed: THINKING,
    events.OutputStreamed: "tool_use",
    events.ToolUseStarted: "tool_use",
}
PART_REFUSED = noop("The provider refused a part of the request, and was asked again without it.")


@dataclass(slots=True)
class _Block:
    """A block of a reply while it is written; ``seconds`` are known once the model has thought."""

    type: str
    names: Mapping[str, str]
    pieces: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    seconds: int | None = None

    def stored(self) -> dict[str, Any]:
        """Return the block as a part of a draft."""
        # Joined once; later only new pieces are joined.
        self.pieces[:] = ["".join(self.pieces)]
        took = {"seconds": self.seconds or self.measured()} if self.type == THINKING else {}
        return {"type": self.type, **self.names, "text": self.pieces[0], **took}

    def measured(self) -> int:
        """Return the whole seconds since it began, at least one."""
        return max(1, round(time.monotonic() - self.began))


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
        """Prepare a call of ``provider`` with ``request``, recorded in ``journal``.

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
        self._is_given_up = self._is_reported = False

    @asynccontextmanager
    async def on_record(self) -> AsyncIterator[None]:
        """Record the call when the block ends, also after an error."""
        failure: str = noop("broken off")
        try:
            yield
            failure = ""
        except Exception as error:
            failure = str(error)
            raise
        finally:
            await finish(self.account(failure))

    async def listen(self) -> AsyncIterator[events.StreamEvent]:
        """Yield the provider's events; record each failed try before the next one.

        A call is also recorded if the provider publishes no request. Raises the provider's errors,
        and ProviderError if the reply has no end.
        """
        try:
            async for event in self.provider.stream(self.request):
                if isinstance(event, events.SentRequest):
                    if self.number:
                        await finish(self.account(PART_REFUSED))
                    await self._open(event)
                elif not self.number:
                    await self._open()
                for told in self._take(event):
                    yield told
                if isinstance(event, events.RetryScheduled):
                    await finish(self.account(event.reason))
                yield event
        except (ProviderError, asyncio.CancelledError) as error:
            self._is_given_up = isinstance(error, asyncio.CancelledError)
            if not (self.number or self._is_given_up):
                await self._open()
            raise
        if self.reply is None:
            raise ProviderError(noop("The stream ended before the reply was complete."))

    async def _open(self, request: events.SentRequest | None = None) -> None:
        """Record a request that is about to be sent."""
        self.usage, self._facts, self._is_reported = condense.Usage(), NO_FACTS, False
        self._started, self._to_first = time.monotonic(), None
        purpose, step = self.request.purpose, self.step
        opening = CallOpening(purpose, self.sent, self.attempt_id, step, request)
        opened = asyncio.ensure_future(self.journal.open_call(opening))
        try:
            self.number = await finish(opened)
        except asyncio.CancelledError:
            await finish(self.journal.withdraw_call(opened.result()))
            raise

    def _take(self, event: events.StreamEvent) -> Iterator[events.ThinkingEnded]:
        """Take a provider's event in, and yield the end of thinking before it."""
        # Text for a block of another kind begins a new block.
        names: dict[str, str] = {}
        match event:
            case events.CallDescribed(facts):
                self._facts = replace(self._facts, **facts)
            case events.ReplyCompleted(usage=usage):
                yield from self._end_thinking()
                self.reply = replace(event, content=self._timed(event.content))
                self.usage = usage
            case events.UsageReported(usage, is_final):
                self.usage, self._is_reported = usage, is_final
            case events.StreamDiscarded():
                self._written.clear()
            case events.ToolUseStarted(id_, name):
                names = {"id": id_, "name": name}
        if type_ := PIECES.get(type(event)):
            if self._to_first is None:
                self._to_first = max(0.0, time.monotonic() - self._started)
            begins = isinstance(event, events.ThinkingStarted | events.ToolUseStarted)
            if begins := begins or not self._written or self._written[-1].type != type_:
                yield from self._end_thinking()
                self._written.append(_Block(type_, names))
            self._written[-1].pieces.append(getattr(event, "text", ""))
            self.journal.keep_partial_reply(self.number, self.draft, at_once=begins)

    def draft(self) -> PartialReply:
        """Return the reply so far, in the form that is stored."""
        return PartialReply([block.stored() for block in self._written], self.usage)

    def _end_thinking(self) -> Iterator[events.ThinkingEnded]:
        """Record the duration of thinking and yield its end, if the last block is thinking."""
        for last in self._written[-1:]:
            if last.type == THINKING and last.seconds is None:
                last.seconds = last.measured()
                yield events.ThinkingEnded(last.seconds)

    def _timed(self, content: Sequence[condense.Block]) -> tuple[condense.Block, ...]:
        """Return a reply's blocks, each thought with the seconds that it took."""
        took = iter([block.seconds for block in self._written if block.type == THINKING])
        return tuple(
            block.noted(seconds=next(took, None))
            if isinstance(block, condense.OpaqueBlock) and condense.is_thinking(block)
            else block
            for block in content
        )

    async def account(self, error: str = "") -> None:
        """Record a call that left no message; another may follow."""
        if self.number:
            await self.journal.record_call(self.record(error))
        self.number = 0
        self._written.clear()

    def record(self, error: str = "") -> CallRecord:
        """Return the record of the call."""
        return CallRecord(
            purpose=self.request.purpose,
            usage=self.usage,
            seconds=max(0.0, time.monotonic() - self._started),
            number=self.number,
            error=error,
            is_whole=self.reply is not None,
            is_reported=self._is_reported,
            is_given_up=self._is_given_up,
            draft=self.draft(),
            sent=self.sent or self.request.messages,
            attempt_id=self.attempt_id,
            seconds_to_first=self._to_first,
            facts=self._facts,
        )


@dataclass(frozen=True, slots=True)
class ProviderSummarizer:
    """A ``condense.Summarizer`` over the provider that also answers the chat, or another one."""

    provider: Provider
    journal: Journal  # records its calls
    audience: Audience  # receives its waits
    apart: bool = False  # another one, which has read nothing of the conversation yet

    @property
    def supports_images(self) -> bool:
        """True if image blocks may be sent."""
        return self.provider.model.supports_images

    @property
    def caches_prompts(self) -> bool:
        """True if a summary call that begins like the chat's own calls is cheaper."""
        return self.provider.model.caches_prompts and not self.apart

    @property
    def compacts(self) -> bool:
        """True if the chat's own model writes, and can make compactions, which only it can read."""
        return self.provider.model.compacts and not self.apart

    @property
    def budget(self) -> condense.Budget | None:
        """The limits of a model other than the one that answers."""
        model = self.provider.model
        return condense.Budget(model.context_window, model.max_output) if self.apart else None

    async def stream(self, request: condense.SummaryRequest) -> AsyncIterator[condense.Chunk]:  # noqa: C901 - a line for each
        """Yield the summary as it is written; raise the provider's errors.

        Raises condense.Vetoed if the budget is spent: no other summary replaces this one.

        An aligned request goes the same way as the chat's calls, its tools included, so that the
        provider knows its beginning again.
        """
        tools = tuple([ToolSpec(**spec) for spec in request.tools])
        purpose = Purpose.CHECK if request.is_check else Purpose.SUMMARY
        asked = ModelRequest(
            request.system, request.messages, tools, purpose, compaction=request.compaction
        )
        call = StreamedCall(self.provider, asked, self.journal, attempt_id=request.attempt_id)
        prices = self.provider.model.prices
        # Tokens and cost of calls that were made again.
        spent, paid, usage = condense.Usage(), Decimal(0), condense.Usage()
        try:
            async with call.on_record():
                async for event in call.listen():
                    match event:
                        case events.TextStreamed(text):
                            yield condense.TextChunk(text)
                        case events.StreamDiscarded():
                            yield condense.DiscardChunk()
                        case events.ToolUseStarted(name=name):
                            yield condense.ToolCallChunk(name)
                        case events.UsageReported(usage) | events.ReplyCompleted(usage=usage):
                            yield condense.UsageChunk(spent + usage, paid + prices.cost(usage))
                        case events.RetryScheduled():
                            self.audience.publish(event)
                            spent, paid = spent + usage, paid + prices.cost(usage)
                            usage = condense.Usage()
        except SpendingLimitReached as error:
            raise condense.Vetoed(str(error)) from error
        if call.reply and call.reply.is_cut:
            yield condense.CutChunk()
        for block in call.reply.content if call.reply else ():
            if isinstance(block, condense.OpaqueBlock) and condense.is_compaction(block):
                # The block bears its model's name.
                yield condense.CompactionChunk({**block.data, "model": self.provider.model.name})
