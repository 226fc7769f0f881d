"""Hide the oldest half behind a marker that carries its facts; no model is called."""

import asyncio
from typing import Literal

from condense.errors import NothingToCondense
from condense.facts import BUDGET, SHARE, ledger
from condense.messages import Content, Message, Tags, TextBlock
from condense.situation import Gauge, Reduction, Situation, Trigger
from condense.strategies.base import Kit
from condense.tagging import TRUNCATION_TEXT, plan_truncation


class SlidingWindow:
    """Keeps the first message and the newest ones, and the ledger of what it hides.

    A forced run hides more, step by step, until what is left fits.
    """

    name = "sliding_window"
    kind: Literal["truncated"] = "truncated"
    asks_model = False

    def __init__(
        self, fraction: float = 0.5, forced: tuple[float, ...] = (0.75, 0.875, 1.0)
    ) -> None:
        """Take the share of messages to hide, and the shares a forced run may go on to."""
        self.fraction = fraction
        self.forced = forced

    def prompt_for(self, situation: Situation) -> str:  # noqa: ARG002 - the protocol's signature
        """Return nothing: no model is asked."""
        return ""

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a truncation; raise NothingToCondense where too few messages are left."""
        gauge = Gauge(situation, kit.counter)
        best: Reduction | None = None
        for fraction in self._fractions(situation):
            hidden = plan_truncation(situation.effective, fraction)
            if hidden:
                best = await self._reduction(hidden, situation, gauge, kit)
                if best.tokens_after.value <= situation.budget.allowed:
                    break
        if best is None:
            raise NothingToCondense("Not enough messages to truncate context")
        return best

    def _fractions(self, situation: Situation) -> tuple[float, ...]:
        more = self.forced if situation.trigger is Trigger.FORCED else ()
        return (self.fraction, *more)

    async def _reduction(
        self, hidden: tuple[Message, ...], situation: Situation, gauge: Gauge, kit: Kit
    ) -> Reduction:
        ids = tuple(message.id for message in hidden)
        content = await asyncio.to_thread(_content, hidden, situation, kit)
        marker = Message(
            role="user",
            content=content,
            id=kit.new_id(),
            position=hidden[-1].order[0],
            tags=Tags(truncation_id=kit.new_id()),
            tokens=kit.counter.count(content),
        )
        before, after = gauge.compare(ids, marker)
        return Reduction(
            kind=self.kind,
            strategy=self.name,
            message=marker,
            hidden=ids,
            tokens_before=before,
            tokens_after=after,
        )


def _content(hidden: tuple[Message, ...], situation: Situation, kit: Kit) -> Content:
    """Return what the marker says: how many are hidden, and what is known of them."""
    text = TRUNCATION_TEXT.format(count=len(hidden))
    budget = int(situation.budget.window * SHARE) or BUDGET
    facts = ledger(hidden, budget_tokens=budget, counter=kit.counter)
    return (TextBlock(text), *facts) if facts else text
