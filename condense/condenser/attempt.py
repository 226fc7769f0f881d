"""One attempt: a rung's strategy is tried, on record from its start to its end."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence

from condense.condenser.hooks import HookRun
from condense.condenser.ladder import Ladder
from condense.condenser.log import Attempt, CondensationLog
from condense.condenser.trial import Trial
from condense.errors import CondenseError, Vetoed
from condense.situation import Reduction
from condense.strategies import Kit, Strategy
from condense.tokens import TokenCounter
from condense.writing.failure import describe
from condense.writing.summarizer import Bill, Summarizer

CUSTOM = "custom"

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
        try:
            await self.log.succeeded(self.attempt, reduction)
        except CondenseError as error:
            await self._failed(error, rest)
            raise
        return reduction

    async def _reduce_or_fail(self) -> Reduction:
        """Return the reduction; whatever a strategy raises is a failure of this rung only."""
        try:
            return await Trial(self.strategy, self.ladder, self.hooks, self.kit).reduce()
        except CondenseError:
            raise
        except Exception as error:
            logger.exception("the strategy %s failed unexpectedly", self.strategy.name)
            said = f"The strategy {self.strategy.name} failed unexpectedly"
            raise CondenseError(said, details=describe(error)) from error

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
