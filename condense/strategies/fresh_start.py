"""Summarise all that the model has read, and start afresh from the summary."""

from typing import Literal

from condense.prompts import condense_instruction
from condense.situation import Gauge, Reduction, Situation
from condense.strategies.base import Kit, require_enough
from condense.strategies.recap import split_at, summarise


class FreshStart:
    """Hides everything before the unread messages behind one summary."""

    name = "fresh_start"
    kind: Literal["condensed"] = "condensed"
    asks_model = True

    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction that ends the summary request."""
        return condense_instruction(situation.prompt, situation.focus)

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation.

        Raises NothingToCondense before any call is made, and SummaryFailed after a failed one.
        """
        gauge = Gauge(situation, kit.counter)
        split = split_at(situation, gauge, ())
        require_enough(situation.effective, split.hidden)
        return await summarise(self, split, situation, gauge, kit)
