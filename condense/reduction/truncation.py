"""Truncations: strategies that hide messages behind a marker; no model is called."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from condense.budget.situation import Addition, Gauge, Kind, Reduction, Situation
from condense.errors import NothingToCondense
from condense.history.boundaries import unread_tail
from condense.history.tags import TRUNCATION_TEXT
from condense.messages import Block, Message, Tags, TextBlock
from condense.prompts import summary_preface
from condense.reduction.carryover import carry_newest, repeated_directives, room_beside, tell_unread
from condense.reduction.strategy import ByRule, Kit, make_reduction
from condense.summaries.attachments import facts_of

NO_LEDGER = "The facts of what is hidden did not fit and were left out."


@dataclass(frozen=True, slots=True)
class _Step:
    """What to hide, with its facts or without, and whether the newest request is cut for it."""

    with_facts: bool
    hidden: Sequence[Message]
    is_cut: bool = False


class ByTruncation(ByRule):
    """Hides the first of its plans that is enough, with the ledger of what it hides.

    Where none is enough, the ledger is dropped before the run fails, and the directives with it;
    what was not read goes only after that. The newest request is carried over where it is hidden,
    and cut only where it does not fit when all else is hidden.
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
        gauge = Gauge(situation, kit.counter)
        tried: list[Reduction] = []
        for steps in self._steps(situation):
            if any(_fits(one, situation) for one in tried):
                break
            for step in steps:
                made = await self._hide(step, gauge, kit)
                if kit.is_enough(made):
                    return made
                tried.append(made)
        if not tried:
            raise NothingToCondense("Not enough messages to truncate context")
        fitting = (one for one in tried if _fits(one, situation))
        return next(fitting, min(tried, key=lambda one: one.tokens_after.value))

    def _steps(self, situation: Situation) -> Iterator[Iterator[_Step]]:
        """Yield what to try, each next lot only where nothing before it can be sent.

        Facts go, and words of the request, only where it could not be sent with them.
        """
        plans, resorts = [*self.plans(situation)], [*self.last_resorts(situation)]
        with_or_without = (True,) if situation.fits else (True, False)
        for lot in (plans, resorts):
            yield itertools.starmap(_Step, itertools.product(with_or_without, filter(None, lot)))
        if not situation.fits:
            hidings = filter(None, (*plans, *resorts))
            yield (_Step(with_facts=False, hidden=hidden, is_cut=True) for hidden in hidings)

    async def _hide(self, step: _Step, gauge: Gauge, kit: Kit) -> Reduction:
        """Return the truncation that the step describes, its marker with all that stays known."""
        situation, hidden = gauge.situation, step.hidden
        effective, ids = situation.effective, {message.id for message in hidden}
        kept = [message for message in effective if message.id not in ids]
        unread = effective[unread_tail(effective) :]
        dropped = tell_unread([message for message in unread if message.id in ids], gauge)
        text = TextBlock(TRUNCATION_TEXT.format(count=len(hidden)))
        facts: tuple[TextBlock, ...] = ()
        directives: Sequence[Block] = ()
        if step.with_facts:
            facts = await facts_of(hidden, situation, counter=kit.counter)
            # Of what is hidden, and of what was hidden before.
            directives = repeated_directives(situation, {message.id for message in kept})
        # As a summary's: what is copied there was asked for before, and is no request.
        preface = (TextBlock(summary_preface()),) if facts else ()
        written = (text, *preface, *facts, *directives, *dropped.blocks)
        request = Addition()
        if unread or not facts:
            # Half of the room is for the work.
            room = room_beside(gauge, hidden, kept, written) / 2 if step.is_cut else math.inf
            request = carry_newest(effective, hidden, facts, room, kit.counter)
        blocks = (*written, *request.blocks)
        content = blocks if len(blocks) > 1 else text.text
        tags = Tags(truncation_id=kit.new_id())
        made = make_reduction(self, hidden, content, tags, gauge=gauge, kit=kit)
        left_out = () if step.with_facts else (NO_LEDGER,)
        return replace(made, notes=(*left_out, *dropped.notes, *request.notes))


def _fits(made: Reduction, situation: Situation) -> bool:
    """Whether the request got smaller, and can be sent."""
    return made.tokens_after.value <= min(situation.room, made.tokens_before.value - 1)
