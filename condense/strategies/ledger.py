"""Ledger: the facts of what is hidden, copied by rule; no model is called."""

from dataclasses import replace

from condense.budget.situation import Gauge, Kind, Reduction, Situation
from condense.history.boundaries import require_enough
from condense.reduction.recap import Recap, split_at
from condense.reduction.strategy import ByRule, Kit
from condense.summaries.attachments import facts_of

NO_FACTS = "The hidden messages held no request, file or command."


class LedgerAlone(ByRule):
    """Hides everything before the unread messages behind the ledger of what it hides."""

    name = "ledger"
    label = "ledger, without a model"
    description = "Facts copied by rule stand for it; no model is asked."
    kind: Kind = "condensed"

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation; raise NothingToCondense where too few messages are left."""
        gauge = Gauge(situation, kit.counter)
        split = split_at(situation, gauge, ())
        require_enough(situation.effective, split.hidden)
        facts = await facts_of(split.hidden, situation, counter=kit.counter)
        summary = "" if facts else NO_FACTS
        recap = Recap(situation, split, gauge, kit)
        said = await recap.write(summary, facts)
        text = "\n\n".join([block.text for block in facts])
        return replace(recap.make(self, said), summary=text, notes=said.notes)
