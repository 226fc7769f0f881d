"""What strategies that hide messages behind a marker have in common; no model is called."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from condense.errors import NothingToCondense
from condense.history import TRUNCATION_TEXT
from condense.history.boundaries import unread_tail
from condense.messages import Block, Message, Tags, TextBlock
from condense.prompts import summary_preface
from condense.reducing.base import ByRule, Kit, Strategy, make_reduction
from condense.reducing.carrying import carry_newest
from condense.reducing.pinned import carried_pins
from condense.reducing.unread import tell_unread
from condense.situation import Addition, Gauge, Kind, Reduction, Situation
from condense.writing.attachments import facts_of

NO_LEDGER = "The facts of what is hidden did not fit and were left out."


class ByTruncation(ByRule):
    """Hides the first of its plans that is enough, with the ledger of what it hides.

    Where none is enough, the ledger is dropped before the run fails, and what was not read goes
    only after that. The newest request is carried over where it is hidden.
    """

    name: ClassVar[str]
    kind: Kind = "truncated"

    def plans(self, situation: Situation) -> Iterator[Sequence[Message]]:
        """Yield what to hide: as few messages as may do, then more."""
        raise NotImplementedError

    def last_resorts(self, situation: Situation) -> Iterator[Sequence[Message]]:  # noqa: ARG002 - for those that have some
        """Yield what to hide where the request could not be sent after any of the plans."""
        yield from ()

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a truncation; raise NothingToCondense where there is nothing to hide."""
        marking = _Marking(self, situation, Gauge(situation, kit.counter), kit)
        # Facts go only where the request could not be sent with them.
        with_or_without = (True,) if situation.fits else (True, False)
        tried: list[Reduction] = []
        for plans in (self.plans(situation), self.last_resorts(situation)):
            if any(_fits(one, situation) for one in tried):
                break
            for with_facts, hidden in itertools.product(with_or_without, filter(None, plans)):
                made = await marking.hide(hidden, with_facts=with_facts)
                if kit.is_enough(made):
                    return made
                tried.append(made)
        if not tried:
            raise NothingToCondense("Not enough messages to truncate context")
        fitting = (one for one in tried if _fits(one, situation))
        return next(fitting, min(tried, key=lambda one: one.tokens_after.value))


def _fits(made: Reduction, situation: Situation) -> bool:
    """Whether the request got smaller, and can be sent."""
    return made.tokens_after.value <= min(situation.room, made.tokens_before.value - 1)


@dataclass(frozen=True, slots=True)
class _Marking:
    """Writes the marker that stands for hidden messages."""

    strategy: Strategy
    situation: Situation
    gauge: Gauge
    kit: Kit

    async def hide(self, hidden: Sequence[Message], *, with_facts: bool) -> Reduction:
        """Return the truncation of these messages."""
        counter = self.kit.counter
        facts = await facts_of(hidden, self.situation, counter=counter) if with_facts else ()
        unread = self.situation.effective[unread_tail(self.situation.effective) :]
        dropped = tell_unread([message for message in unread if message in hidden], self.gauge)
        text = TextBlock(TRUNCATION_TEXT.format(count=len(hidden)))
        # As a summary's: what is copied there was asked for before, and is no request.
        preface = (TextBlock(summary_preface()),) if facts else ()
        written = (text, *preface, *facts, *dropped.blocks)
        request = Addition()
        if unread or not facts:
            request = self._newest_request(hidden, facts, written)
        content = (*written, *request.blocks)
        made = make_reduction(
            self.strategy,
            hidden,
            content if len(content) > 1 else text.text,
            Tags(truncation_id=self.kit.new_id()),
            gauge=self.gauge,
            kit=self.kit,
        )
        left_out = () if with_facts else (NO_LEDGER,)
        return replace(made, notes=(*left_out, *dropped.notes, *request.notes))

    def _newest_request(
        self, hidden: Sequence[Message], facts: Sequence[Block], written: Sequence[Block]
    ) -> Addition:
        """Carry the newest request where it is hidden; half of the room is for the work."""
        effective, gauge = self.situation.effective, self.gauge
        ids = {message.id for message in hidden}
        kept = [message for message in effective if message.id not in ids]
        taken = self.kit.counter.count((*written, *carried_pins(self.situation, hidden)))
        room = gauge.limit - gauge.fixed - gauge.size(kept) - taken
        return carry_newest(effective, hidden, facts, room / 2, self.kit.counter)
