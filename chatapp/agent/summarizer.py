"""Lets the engine's summaries be written by a provider, and accounts for every such call."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal

import condense
from chatapp.agent import events
from chatapp.agent.errors import SpendingLimitReached
from chatapp.agent.model_call import StreamedCall
from chatapp.agent.ports import Audience, Journal
from chatapp.agent.provider_port import ModelRequest, Provider, Purpose
from chatapp.agent.tool_port import ToolSpec


@dataclass(frozen=True, slots=True)
class ProviderSummarizer:
    """A ``condense.Summarizer`` over the provider that also answers the chat, or another one.

    With ``apart`` it is another one, which has read nothing of the conversation yet. The
    ``journal`` has the accounts, and the ``audience`` is told of a wait.
    """

    provider: Provider
    journal: Journal
    audience: Audience
    apart: bool = False

    @property
    def supports_images(self) -> bool:
        """Whether image blocks may be sent."""
        return self.provider.model.supports_images

    @property
    def caches_prompts(self) -> bool:
        """Whether a summary call that begins like the chat's own calls is cheaper."""
        return self.provider.model.caches_prompts and not self.apart

    @property
    def compacts(self) -> bool:
        """Whether the model that answers can make a compaction, which no other one could read."""
        return self.provider.model.compacts and not self.apart

    @property
    def budget(self) -> condense.Budget | None:
        """The limits of a model other than the one that answers."""
        model = self.provider.model
        return condense.Budget(model.context_window, model.max_output) if self.apart else None

    async def stream(self, request: condense.SummaryRequest) -> AsyncIterator[condense.Chunk]:
        """Yield the summary as it is written; raise what the provider raises.

        Raises condense.Vetoed where the budget does not last to its end: nothing stands in for it.

        An aligned request goes the same way as the chat's calls, its tools included, so that the
        provider knows its beginning again.
        """
        tools = tuple([ToolSpec(**spec) for spec in request.tools])
        asked = ModelRequest(
            request.system, request.messages, tools, Purpose.SUMMARY, compaction=request.compaction
        )
        call = StreamedCall(self.provider, asked, self.journal, attempt_id=request.attempt_id)
        prices = self.provider.model.prices
        # In calls that were made again.
        spent, paid, usage = condense.Usage(), Decimal(0), condense.Usage()
        try:
            async with call.on_record():
                async for event in call.listen():
                    match event:
                        case events.TextStreamed(text):
                            yield condense.TextChunk(text)
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
                # It bears its model's name.
                yield condense.CompactionChunk({**block.data, "model": self.provider.model.name})
