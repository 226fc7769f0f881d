"""Provider's compaction: a block that the provider has written and signed."""

from condense.budget.situation import Gauge, Reduction, Situation
from condense.errors import NothingToCondense
from condense.history.boundaries import require_enough
from condense.prompts import load_prompt
from condense.reduction.recap import Recap, split_at
from condense.reduction.strategy import ByModel, Kit

UNREAD = "What the model has not read does not fit, and a provider's compaction would hide it"


class ProviderCompaction(ByModel):
    """Hides everything before the unread messages behind the provider's own compaction.

    Its block is sent first and unchanged; ledger and requests stand after it.
    """

    name = "provider"
    label = "the provider's own"
    description = "Where the provider can: its signed summary stands for all the model has read."

    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction that the provider is given instead of its own."""
        # Nobody can shorten what the provider writes.
        return f"{super().prompt_for(situation)}\n\n{load_prompt('compaction')}"

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation.

        Raises NothingToCondense before any call, also where the provider makes no compactions or
        the history does not fit into one call, and SummaryFailed after a failed one.
        """
        gauge = Gauge(situation, kit.counter)
        split = split_at(situation, gauge, ())
        require_enough(situation.effective, split.hidden)
        if not split.keeps_unread:
            raise NothingToCondense(UNREAD)
        recap = Recap(situation, split, gauge, kit)
        prompt = recap.instruction(self)
        written, block = await recap.writer.compact(split.hidden, prompt)
        return await recap.reduction(self, written, prompt, signed=(block,))
