"""Ledger: the facts of the hidden messages, copied by rule; no model is called."""

from dataclasses import replace

from condense.budget.situation import Gauge, Kind, Reduction, Situation
from condense.reduction.carryover import facts_of
from condense.reduction.strategy import ByRule, carrying_reduction, opening, split_at
from condense.sentences import noop
from condense.summaries.summarizer import Kit

NO_FACTS = noop("The hidden messages held no request, file or command.")


class LedgerAlone(ByRule):
    """Hides everything before the unread messages behind the ledger of the hidden part."""

    name = "ledger"
    label = noop("key facts only")
    description = noop("no model call, free")
    kind: Kind = "condensed"

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation; raise NothingToCondense if too few messages are left."""
        gauge = Gauge(situation, kit.counter)
        split = split_at(gauge)
        facts = await facts_of(split.hidden, situation, counter=kit.counter)
        head = (opening("" if facts else NO_FACTS), *facts)
        made = carrying_reduction(self, split, gauge, kit, head, facts=facts)
        return replace(made, summary="\n\n".join([block.text for block in facts]))
