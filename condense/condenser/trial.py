"""What a strategy makes of a situation, with what hooks add and validators say of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from condense.condenser.hooks import After, HookRun
from condense.condenser.ladder import Ladder
from condense.condenser.repair import lacking, pays, rejection
from condense.errors import DidNotShrink
from condense.facts import parse_ledger
from condense.history.signed_blocks import behind, count_thinking
from condense.messages import Block, Message, TextBlock
from condense.reducing import Kit, Strategy, asks_model
from condense.reducing.carryover import carry_answered
from condense.situation import Addition, Reduction, Situation

UNBOUND = "Thinking that is not sent any more, since what stood before it changed: {count} blocks."
REPAIRED = "A first summary was rejected, and written again: {lacking}"


@dataclass(frozen=True, slots=True)
class Trial:
    """Has a strategy reduce the context, and holds the result to what ladder and hooks demand."""

    strategy: Strategy
    ladder: Ladder
    hooks: HookRun
    kit: Kit

    @property
    def situation(self) -> Situation:
        """What it is tried on."""
        return self.ladder.situation

    async def reduce(self) -> Reduction:
        """Return what holds: where a validator rejects a summary, a second one if it pays."""
        reduction = await self._judged(self.kit)
        found = lacking(reduction) if asks_model(self.strategy) else ()
        if not found:
            return reduction
        if not pays(self.kit.bill, reduction, self.ladder.policy.distance_messages):
            raise rejection(reduction)
        repaired = await self._judged(replace(self.kit, lacking=found))
        if lacking(repaired):
            raise rejection(repaired)
        notes = (REPAIRED.format(lacking="; ".join(found)), *repaired.notes)
        return replace(repaired, notes=notes)

    async def _judged(self, kit: Kit) -> Reduction:
        reduction = await self.strategy.reduce(self.situation, kit)
        self.ladder.check(reduction)
        for hook in self.hooks.hooks.after:
            for addition in await self.hooks.additions(hook, self.situation, reduction):
                reduction = self._extended(reduction, addition, hook)
        return await self.hooks.judged(self.situation, self._noting_thinking(reduction))

    def _noting_thinking(self, reduction: Reduction) -> Reduction:
        """Return the reduction with word of the thinking that it leaves without its beginning."""
        count = count_thinking(behind(self.situation.effective, reduction.hidden))
        if not count:
            return reduction
        return replace(reduction, notes=(*reduction.notes, UNBOUND.format(count=count)))

    def _extended(self, reduction: Reduction, addition: Addition, hook: After) -> Reduction:
        """Return the reduction with what a hook adds, unless that is too much.

        Raises DidNotShrink where facts would be lost for it that an earlier one had kept, and the
        request can be sent as it is.
        """
        extended = self._longer(reduction, addition.blocks) if addition.blocks else reduction
        try:
            self.ladder.check(extended)
        except DidNotShrink:
            if self.situation.fits and self._loses_ledger(reduction):
                raise
            self.hooks.note_left_out(hook, addition)
            extended, addition = self._telling(reduction, addition), addition.left_out()
        notes = (*reduction.notes, *addition.notes)
        return replace(extended, notes=notes, folded=addition.folded or reduction.folded)

    def _loses_ledger(self, reduction: Reduction) -> bool:
        hidden = reduction.hidden_among(self.situation.effective)
        return _holds_ledger(hidden) and not _holds_ledger((reduction.message,))

    def _telling(self, reduction: Reduction, left_out: Addition) -> Reduction:
        """Return the reduction with what was left out of the newest request, in a few words."""
        effective, counter = self.situation.effective, self.kit.counter
        request = carry_answered(effective, reduction, left_out.blocks, counter)
        if not request:
            return reduction
        told = self._longer(reduction, request)
        self.ladder.check(told)
        return told

    def _longer(self, reduction: Reduction, blocks: Sequence[Block]) -> Reduction:
        """Return the reduction with more for the model to read."""
        content = (*reduction.message.blocks, *blocks)
        message = replace(
            reduction.message, content=content, tokens=self.kit.counter.count(content)
        )
        _, after = self.ladder.gauge.compare(reduction.hidden, message)
        return replace(reduction, message=message, tokens_after=after)


def _holds_ledger(messages: Iterable[Message]) -> bool:
    """Whether a summary or marker among these carries a ledger."""
    made = (one for one in messages if one.is_summary or one.is_marker)
    texts = (block.text for one in made for block in one.blocks if isinstance(block, TextBlock))
    return any(map(parse_ledger, texts))
