"""Summarise all that the model has read, and start afresh from the summary."""

from condense.situation import Gauge, Kind, Reduction, Situation, require_enough
from condense.strategies.base import ByModel, Kit
from condense.strategies.recap import split_at, summarise


class FreshStart(ByModel):
    """Hides everything before the unread messages behind one summary."""

    name = "fresh_start"
    kind: Kind = "condensed"

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation.

        Raises NothingToCondense before any call is made, and SummaryFailed after a failed one.
        """
        gauge = Gauge(situation, kit.counter)
        split = split_at(situation, gauge, ())
        require_enough(situation.effective, split.hidden)
        return await summarise(self, split, situation, gauge, kit)
