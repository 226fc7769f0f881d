"""Put the facts of what was hidden in its place, copied by rule; no model is called."""

from typing import Literal

from condense.facts import BUDGET, SHARE, ledger
from condense.messages import Block, TextBlock
from condense.situation import Gauge, Reduction, Situation
from condense.strategies.base import Kit, require_enough
from condense.strategies.newest_request import newest_request
from condense.strategies.recap import Recap, Split, split_at, summary_message


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
        content, notes = await self._content(facts, situation, split, gauge, kit)
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

    async def _content(
        self,
        facts: tuple[TextBlock, ...],
        situation: Situation,
        split: Split,
        gauge: Gauge,
        kit: Kit,
    ) -> tuple[tuple[Block, ...], tuple[str, ...]]:
        """Return the facts and what else every summary carries, with notes for people."""
        recap = Recap(situation, split, gauge, kit)
        dropped, environment = recap.dropped(), await recap.environment()
        head = facts or (TextBlock(NO_FACTS),)
        rest = (*recap.workflows(), *dropped.blocks, *environment.blocks)
        notes = (*dropped.notes, *environment.notes)
        if _holds(facts, newest_request(split.hidden)):
            return (*head, *rest), notes
        carried = recap.newest_request((*head, *rest))
        return (*head, *carried.blocks, *rest), (*notes, *carried.notes)


NO_FACTS = "The messages before this one are hidden; they held no request, file or command."


def _holds(facts: tuple[TextBlock, ...], request: tuple[Block, ...]) -> bool:
    """Whether the ledger has the whole request already."""
    texts = [block.text for block in request if isinstance(block, TextBlock)]
    known = "\n".join(block.text for block in facts)
    return len(texts) == len(request) and all(f"\n{text}\n" in known for text in texts)
