"""Hide the oldest messages behind a marker that carries their facts; no model is called."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from condense.errors import NothingToCondense
from condense.history import TRUNCATION_TEXT, plan_truncation
from condense.history.boundaries import safe_cuts, unread_tail
from condense.messages import Message, Tags, TextBlock
from condense.reducing import ByRule, Kit, make_reduction
from condense.reducing.newest_request import carry_newest
from condense.reducing.pinned import carried_pins
from condense.situation import Addition, Gauge, Kind, Reduction, Situation
from condense.writing.attachments import facts_of


class SlidingWindow(ByRule):
    """Hides half of the messages after the first one, and keeps the ledger of what it hides.

    Where the context can't be sent as it is, it goes on until the rest fits: it hides more, at last
    the first message too, and then keeps no ledger. What the model has not read stays, and the
    newest request is carried over.
    """

    name = "sliding_window"
    label = "sliding window"
    description = "The oldest half is hidden, its facts are kept."
    kind: Kind = "truncated"

    def __init__(self, fraction: float = 0.5, further: tuple[float, ...] = (0.75, 0.875)) -> None:
        """Take the share of messages to hide, and the shares to go on to where that is too few."""
        self.fraction = fraction
        self.further = further

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a truncation; raise NothingToCondense where too few messages are left."""
        gauge = Gauge(situation, kit.counter)
        made: Reduction | None = None
        for with_facts, hidden in itertools.product((True, False), self._plans(situation)):
            made = await self._reduction(hidden, situation, gauge, kit, with_facts=with_facts)
            if kit.is_enough(made):
                break
        if made is None:
            raise NothingToCondense("Not enough messages to truncate context")
        return made

    def _plans(self, situation: Situation) -> Iterator[tuple[Message, ...]]:
        """Yield what to hide: as few messages as may do, then more."""
        effective = situation.effective
        plans = [plan_truncation(effective, self.fraction)]
        if not situation.fits:
            read = effective[: unread_tail(effective)]
            second = next((cut for cut in safe_cuts(read) if cut), 0)
            plans += (plan_truncation(read, fraction) for fraction in self.further)
            plans += (read[second:], read)
        by_length = {len(plan): plan for plan in plans if plan}
        return (by_length[length] for length in sorted(by_length))

    async def _reduction(
        self,
        hidden: tuple[Message, ...],
        situation: Situation,
        gauge: Gauge,
        kit: Kit,
        *,
        with_facts: bool,
    ) -> Reduction:
        text = TextBlock(TRUNCATION_TEXT.format(count=len(hidden)))
        facts = await facts_of(hidden, situation, counter=kit.counter) if with_facts else ()
        request = _newest_request(hidden, facts, situation, gauge, kit)
        content = (text, *facts, *request.blocks)
        tags = Tags(truncation_id=kit.new_id())
        made = make_reduction(
            self, hidden, content if len(content) > 1 else text.text, tags, gauge=gauge, kit=kit
        )
        return replace(made, notes=request.notes)


def _newest_request(
    hidden: Sequence[Message],
    facts: Sequence[TextBlock],
    situation: Situation,
    gauge: Gauge,
    kit: Kit,
) -> Addition:
    """Carry the request that is worked on where it is hidden; half of the room is for the work."""
    effective = situation.effective
    if unread_tail(effective) == len(effective):
        return Addition()
    ids = {message.id for message in hidden}
    kept = [message for message in effective if message.id not in ids]
    beside = kit.counter.count((*facts, *carried_pins(situation, hidden)))
    room = gauge.limit - gauge.fixed - gauge.size(kept) - beside
    return carry_newest(effective, hidden, facts, room / 2, kit.counter)
