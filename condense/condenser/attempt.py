"""One attempt: a rung's strategy is tried, on record from its start to its end."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from condense.condenser.hooks import After, HookRun
from condense.condenser.ladder import Ladder
from condense.condenser.log import Attempt, CondensationLog
from condense.condenser.repair import lacking, pays, rejection
from condense.errors import CondenseError, DidNotShrink, Vetoed
from condense.history.thinking import behind, count_thinking
from condense.messages import Block
from condense.reducing import asks_model
from condense.reducing.carrying import carry_answered
from condense.situation import Addition, Reduction
from condense.strategies import Kit, Strategy
from condense.tokens import TokenCounter
from condense.writing.failure import describe
from condense.writing.summarizer import Bill, Summarizer

CUSTOM = "custom"
UNBOUND = "Thinking that is not sent any more, since what stood before it changed: {count} blocks."
REPAIRED = "A first summary was rejected, and written again: {lacking}"

logger = logging.getLogger(__name__)


class AttemptRunner:
    """Has a strategy reduce the context, and holds the result to what the ladder demands."""

    def __init__(
        self,
        strategy: Strategy,
        *,
        ladder: Ladder,
        hooks: HookRun,
        log: CondensationLog,
        summarizer: Summarizer,
        counter: TokenCounter,
        new_id: Callable[[], str],
    ) -> None:
        """Take the strategy, what it works with, and whoever is told."""
        self.strategy = strategy
        self.ladder = ladder
        self.situation = ladder.situation
        self.hooks = hooks
        self.log = log
        self.attempt = self._describe(new_id())
        self.kit = Kit(
            summarizer=summarizer,
            counter=counter,
            new_id=new_id,
            on_text=self._on_text,
            bill=Bill(self.attempt.id),
            is_enough=ladder.is_enough,
        )
        self._characters = 0

    async def run(self, rest: Sequence[Strategy]) -> Reduction:
        """Return the reduction that was applied, or raise why there is none."""
        try:
            await self.log.started(self.attempt)
            reduction = await self._reduce_or_fail()
        except asyncio.CancelledError:
            await asyncio.shield(self.log.cancelled(self.attempt))
            raise
        except CondenseError as error:
            veto = await self.hooks.on_error(self.situation, error)
            await self._failed(error, () if veto else rest)
            if veto:
                raise Vetoed(veto.reason, cost=error.cost, calls=error.calls) from error
            raise
        await self.log.succeeded(self.attempt, reduction)
        return reduction

    async def _reduce_or_fail(self) -> Reduction:
        """Return the reduction; whatever a strategy raises is a failure of this rung only."""
        try:
            return await self._reduce()
        except CondenseError:
            raise
        except Exception as error:
            logger.exception("the strategy %s failed unexpectedly", self.strategy.name)
            said = f"The strategy {self.strategy.name} failed unexpectedly"
            raise CondenseError(said, details=describe(error)) from error

    async def _reduce(self) -> Reduction:
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
        """Return the reduction with what a hook adds, unless that is too much."""
        extended = self._longer(reduction, addition.blocks) if addition.blocks else reduction
        try:
            self.ladder.check(extended)
        except DidNotShrink:
            self.hooks.note_left_out(hook)
            extended, addition = self._telling(reduction, addition), addition.left_out()
        notes = (*reduction.notes, *addition.notes)
        return replace(extended, notes=notes, folded=addition.folded or reduction.folded)

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

    async def _failed(self, error: CondenseError, rest: Sequence[Strategy]) -> None:
        """Close the record with all that was spent, and say what comes next."""
        bill = self.kit.bill
        error.cost = max(error.cost, bill.cost)
        error.calls = max(error.calls, len(bill.calls))
        if self.hooks.troubles:
            error.details = "\n".join((error.details, *self.hooks.troubles)).strip()
        following = next((one.name for one in self.ladder.after(rest, error)), None)
        await self.log.failed(self.attempt, error, fell_back_to=following)

    def _describe(self, id_: str) -> Attempt:
        budget, prompt = self.situation.budget, self._prompt()
        return Attempt(
            id=id_,
            strategy=self.strategy.name,
            kind=self.strategy.kind,
            trigger=self.situation.trigger,
            threshold=budget.threshold,
            threshold_source=budget.threshold_source,
            tokens_before=self.situation.tokens,
            prompt=prompt,
            prompt_key=self._key() if prompt else "",
            effective=self.situation.effective,
        )

    def _key(self) -> str:
        return CUSTOM if self.situation.prompt.strip() else self.situation.prompt_key

    def _prompt(self) -> str:
        try:
            return self.strategy.prompt_for(self.situation)
        except Exception as error:  # noqa: BLE001 - a strategy may be anybody's
            self.hooks.troubles.append(f"The prompt is not on record: {error}")
            return ""

    async def _on_text(self, text: str) -> None:
        self._characters += len(text)
        # The same rule of thumb as CharacterCounter: exact counts of pieces would not add up.
        await self.log.progressed(self.attempt, math.ceil(self._characters / 4))
