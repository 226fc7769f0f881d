"""Hide the oldest half behind a marker that carries its facts; no model is called."""

from condense.errors import NothingToCondense
from condense.history import TRUNCATION_TEXT, plan_truncation
from condense.messages import Message, Tags, TextBlock
from condense.reducing import ByRule, Kit, make_reduction
from condense.situation import Gauge, Kind, Reduction, Situation, Trigger
from condense.writing.attachments import facts_of


class SlidingWindow(ByRule):
    """Keeps the first message and the newest ones, and the ledger of what it hides.

    A forced run hides more, step by step, until what is left fits.
    """

    name = "sliding_window"
    label = "sliding window"
    description = "The oldest half is hidden, its facts are kept."
    kind: Kind = "truncated"

    def __init__(
        self, fraction: float = 0.5, forced: tuple[float, ...] = (0.75, 0.875, 1.0)
    ) -> None:
        """Take the share of messages to hide, and the shares a forced run may go on to."""
        self.fraction = fraction
        self.forced = forced

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
        text = TRUNCATION_TEXT.format(count=len(hidden))
        facts = await facts_of(hidden, situation, counter=kit.counter)
        content = (TextBlock(text), *facts) if facts else text
        tags = Tags(truncation_id=kit.new_id())
        return make_reduction(self, hidden, content, tags, gauge=gauge, kit=kit)
