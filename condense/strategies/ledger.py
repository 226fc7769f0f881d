"""Put the facts of what was hidden in its place, copied by rule; no model is called."""

from typing import Literal

from condense.facts import BUDGET, SHARE, ledger
from condense.situation import Gauge, Reduction, Situation
from condense.strategies.base import Kit, require_enough
from condense.strategies.recap import Recap, split_at, summary_message

NO_FACTS = "The hidden messages held no request, file or command."


class Ledger:
    """Hides everything before the unread messages behind the ledger of what it hides."""

    name = "ledger"
    kind: Literal["condensed"] = "condensed"
    asks_model = False

    def __init__(self, share: float = SHARE) -> None:
        """Take the share of the window that the ledger may fill."""
        self.share = share

    def prompt_for(self, situation: Situation) -> str:  # noqa: ARG002 - the protocol's signature
        """Return nothing: no model is asked."""
        return ""

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation; raise NothingToCondense where too few messages are left."""
        gauge = Gauge(situation, kit.counter)
        split = split_at(situation, gauge, ())
        require_enough(situation.effective, split.hidden)
        budget = int(situation.budget.window * self.share) or BUDGET
        facts = ledger(split.hidden, budget_tokens=budget, counter=kit.counter)
        summary = "" if facts else NO_FACTS
        content, notes = await Recap(situation, split, gauge, kit).write(summary, facts)
        message = summary_message(content, split.hidden[-1], kit)
        ids = tuple(hidden.id for hidden in split.hidden)
        before, after = gauge.compare(ids, message)
        return Reduction(
            kind=self.kind,
            strategy=self.name,
            message=message,
            hidden=ids,
            tokens_before=before,
            tokens_after=after,
            summary="\n\n".join(block.text for block in facts),
            notes=notes,
        )
