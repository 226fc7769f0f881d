"""Truncations: strategies that hide messages behind a marker; no model is called."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import ClassVar

from condense.budget.situation import Addition, Gauge, Kind, Reduction, Situation
from condense.errors import NothingToCondense
from condense.history.boundaries import unread_tail
from condense.history.tags import TRUNCATION_TEXT
from condense.messages import Block, Message, Tags, TextBlock
from condense.prompts import load_prompt
from condense.reduction.carryover import (
    carry_newest,
    facts_of,
    repeated_directives,
    room_beside,
    tell_unread,
)
from condense.reduction.strategy import ByRule, make_reduction
from condense.sentences import noop
from condense.summaries.summarizer import Kit

NO_LEDGER = noop("The facts of what is hidden did not fit and were left out.")


class ByTruncation(ByRule):
    """Hides the first of its plans that is enough, and keeps the ledger of the hidden part.

    If none is enough, the ledger is dropped before the run fails, and the directives with it;
    unread messages go only after that. The newest request is carried over if it is hidden, and cut
    only if it does not fit when all else is hidden.
    """

    name: ClassVar[str]
    kind: Kind = "truncated"

    def plans(self, situation: Situation) -> Iterator[Sequence[Message]]:
        """Yield the messages to hide: as few as may do, then more."""
        raise NotImplementedError

    def last_resorts(self, situation: Situation) -> Iterator[Sequence[Message]]:  # noqa: ARG002 - for those that have some
        """Yield the messages to hide if the request could not be sent after any of the plans."""
        yield from ()

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a truncation; raise NothingToCondense if there is nothing to hide."""
        gauge, tried = Gauge(situation, kit.counter), list[Reduction]()
        plans = [*filter(None, self.plans(situation))]
        resorts = [*filter(None, self.last_resorts(situation))]
        # With facts or without, the messages to hide, and True if the newest request is cut. Facts
        # and words of the request are left out only if it could not be sent with them.
        with_or_without = (True,) if situation.fits else (True, False)
        lots = [product(with_or_without, lot, (False,)) for lot in (plans, resorts)]
        if not situation.fits:
            lots.append(product((False,), (*plans, *resorts), (True,)))
        for lot in lots:
            if [one for one in tried if _fits(one, situation)]:
                break
            for with_facts, hidden, is_cut in lot:
                made = await self._hide(hidden, gauge, kit, with_facts=with_facts, is_cut=is_cut)
                if kit.is_enough(made):
                    return made
                tried.append(made)
        if not tried:
            raise NothingToCondense(noop("Not enough messages to truncate context"))
        fitting = (one for one in tried if _fits(one, situation))
        return next(fitting, min(tried, key=lambda one: one.tokens_after.value))

    async def _hide(
        self, hidden: Sequence[Message], gauge: Gauge, kit: Kit, *, with_facts: bool, is_cut: bool
    ) -> Reduction:
        """Return the truncation of these messages, with the ledger and carried blocks."""
        situation, effective = gauge.situation, gauge.situation.effective
        ids = {message.id for message in hidden}
        kept = [message for message in effective if message.id not in ids]
        unread = effective[unread_tail(effective) :]
        dropped = tell_unread([message for message in unread if message.id in ids], gauge)
        text = TextBlock(TRUNCATION_TEXT.format(count=len(hidden)))
        facts: tuple[TextBlock, ...] = ()
        directives: Sequence[Block] = ()
        if with_facts:
            facts = await facts_of(hidden, situation, counter=kit.counter)
            # Directives in newly hidden messages, and in those hidden before.
            directives = repeated_directives(situation, {message.id for message in kept})
        # As a summary's: words that are copied there were requested before, and are no request.
        preface = (TextBlock(load_prompt("summary_preface")),) if facts else ()
        written = (text, *preface, *facts, *directives, *dropped.blocks)
        request = Addition()
        if unread or not facts:
            # Half of the room is for the work.
            room = room_beside(gauge, hidden, kept, written) / 2 if is_cut else math.inf
            request = carry_newest(effective, hidden, facts, room, kit.counter)
        blocks = (*written, *request.blocks)
        content = blocks if len(blocks) > 1 else text.text
        tags = Tags(truncation_id=kit.new_id())
        made = make_reduction(self, hidden, content, tags, gauge=gauge, kit=kit)
        left_out = () if with_facts else (NO_LEDGER,)
        return replace(made, notes=(*left_out, *dropped.notes, *request.notes))


def _fits(made: Reduction, situation: Situation) -> bool:
    """Return True if the request got smaller, and can be sent."""
    return made.tokens_after.value <= min(situation.room, made.tokens_before.value - 1)
