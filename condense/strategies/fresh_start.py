"""Fresh start: one summary of all messages that the model has read."""

from condense.budget.situation import Gauge, Reduction, Situation
from condense.reduction.strategy import ByModel, split_at, summarise
from condense.sentences import noop
from condense.summaries.summarizer import Kit


class FreshStart(ByModel):
    """Hides everything before the unread messages behind one summary."""

    name = "fresh_start"
    label = noop("summary")
    description = noop("replace everything so far with one summary (recommended)")

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation; raise NothingToCondense before any call, or SummaryFailed."""
        gauge = Gauge(situation, kit.counter)
        return await summarise(self, split_at(gauge), gauge, kit)
