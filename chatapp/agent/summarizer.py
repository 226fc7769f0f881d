"""Lets the engine's summaries be written by a provider, and accounts for every such call."""

import asyncio
import time
from collections.abc import AsyncIterator
from decimal import Decimal

import condense
from chatapp.agent import events
from chatapp.agent.ports import (
    Audience,
    CallRecord,
    Journal,
    ModelRequest,
    Provider,
    Purpose,
    ToolSpec,
)


class ProviderSummarizer:
    """A ``condense.Summarizer`` over the provider that also answers the chat."""

    def __init__(self, provider: Provider, journal: Journal, audience: Audience) -> None:
        """Take who writes, the ``journal`` for the accounts, and who is told of a wait."""
        self.provider = provider
        self.journal = journal
        self.audience = audience

    @property
    def supports_images(self) -> bool:
        """Whether image blocks may be sent."""
        return self.provider.model.supports_images

    @property
    def caches_prompts(self) -> bool:
        """Whether a summary call that begins like the chat's own calls is cheaper."""
        return self.provider.model.caches_prompts

    async def stream(self, request: condense.SummaryRequest) -> AsyncIterator[condense.Chunk]:
        """Yield the summary as it is written; raise what the provider raises.

        An aligned request goes the same way as the chat's calls, its tools included, so that the
        provider knows its beginning again.
        """
        usage, started, failure = condense.Usage(), time.monotonic(), "broken off"
        spent, paid = condense.Usage(), Decimal(0)  # in calls that were made again
        prices = self.provider.model.prices
        tools = tuple(ToolSpec(**spec) for spec in request.tools)
        model_request = ModelRequest(request.system, request.messages, tools, Purpose.SUMMARY)
        try:
            async for event in self.provider.stream(model_request):
                match event:
                    case events.TextStreamed(text):
                        yield condense.TextChunk(text)
                    case events.ToolUseStarted(name=name):
                        yield condense.ToolCallChunk(name)
                    case events.UsageReported(usage) | events.ReplyCompleted(usage=usage):
                        yield condense.UsageChunk(spent + usage, paid + prices.cost(usage))
                    case events.RetryScheduled(reason, wait):
                        self.audience.publish(event)
                        await self._account(usage, time.monotonic() - started, reason)
                        spent, paid = spent + usage, paid + prices.cost(usage)
                        usage = condense.Usage()
                        started = time.monotonic() + wait
            failure = ""
        except Exception as error:
            failure = str(error)
            raise
        finally:
            await self._account(usage, time.monotonic() - started, failure)

    async def _account(self, usage: condense.Usage, seconds: float, error: str) -> None:
        """Record the call, also when it is cancelled while that is done."""
        cost = self.provider.model.prices.cost(usage)
        record = CallRecord(Purpose.SUMMARY, usage, cost, seconds, error)
        recording = asyncio.ensure_future(self.journal.record_call(record))
        try:
            await asyncio.shield(recording)
        except asyncio.CancelledError:
            await recording
            raise
