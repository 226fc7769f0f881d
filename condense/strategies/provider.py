"""Provider's compaction: a block that the provider has written and signed."""

from condense.budget.situation import Gauge, Reduction, Situation
from condense.errors import NothingToCondense
from condense.prompts import load_prompt
from condense.reduction import strategy
from condense.sentences import noop
from condense.summaries.summarizer import Kit
from condense.summaries.writer import Writer

MODEL_UNREAD = noop(
    "What the model has not read does not fit, and a provider's compaction would hide it"
)


class ProviderCompaction(strategy.ByModel):
    """Hides everything before the unread messages behind the provider's own compaction.

    Its block is sent first and unchanged; ledger and requests stand after it.
    """

    name = "provider"
    label = noop("provider's built-in compaction")
    description = noop("if supported")

    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction that the provider is given instead of its own."""
        # Nobody can shorten the provider's text.
        return f"{super().prompt_for(situation)}\n\n{load_prompt('compaction')}"

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation.

        Raises NothingToCondense before any call, also if the provider makes no compactions or the
        history does not fit into one call, and SummaryFailed after a failed one.
        """
        gauge = Gauge(situation, kit.counter)
        split = strategy.split_at(gauge)
        if len(split.kept) < len(split.unread):
            raise NothingToCondense(MODEL_UNREAD)
        prompt = strategy.instruction(self, split, gauge, kit)
        written, block = await Writer(gauge, kit).compact(split.hidden, prompt)
        made = strategy.carrying_reduction(self, split, gauge, kit, (block, strategy.opening()))
        return strategy.with_written(made, written, prompt, kit)
