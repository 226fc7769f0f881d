"""One attempt: a rung's strategy is tried, on record from its start to its end."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from condense.condenser.events import ToldLog
from condense.condenser.hooks import HookRun
from condense.condenser.ladder import Ladder
from condense.condenser.log import Attempt
from condense.condenser.review import Accept, Proposal, Reviewer
from condense.condenser.trial import Trial
from condense.errors import CondenseError, DidNotShrink, Discarded, Vetoed
from condense.prompts.parsed import parse_summary
from condense.reducing import asks_model
from condense.reducing.strategy import expected_usage
from condense.situation import Reduction
from condense.strategies import Kit, Strategy
from condense.tokens import TokenCounter
from condense.writing.failure import describe
from condense.writing.summarizer import Bill, Summarizer

CUSTOM = "custom"
NOT_WRITTEN = "It was to be written again, which failed: {error}"

logger = logging.getLogger(__name__)


class AttemptRunner:
    """Has a strategy reduce the context, and holds the result to what the ladder demands."""

    def __init__(
        self,
        strategy: Strategy,
        *,
        ladder: Ladder,
        hooks: HookRun,
        log: ToldLog,
        reviewer: Reviewer,
        summarizer: Summarizer,
        counter: TokenCounter,
        new_id: Callable[[], str],
        attempt_id: str = "",
    ) -> None:
        """Take the strategy, what it works with, and whoever is told.

        An attempt that was broken off in its review has its ``attempt_id`` already.
        """
        self.strategy = strategy
        self.ladder = ladder
        self.situation = ladder.situation
        self.hooks = hooks
        self.log = log
        self.reviewer = reviewer
        self.attempt = self._describe(attempt_id or new_id(), summarizer, counter)
        self.kit = Kit(
            summarizer=summarizer,
            counter=counter,
            new_id=new_id,
            on_text=self._on_text,
            bill=Bill(self.attempt.id),
            is_enough=ladder.is_enough,
        )
        self._characters = 0

    async def run(self, rest: Sequence[Strategy], draft: Reduction | None = None) -> Reduction:
        """Return the reduction that was applied, or raise why there is none.

        With a ``draft`` nothing is left of it but its review.
        """
        try:
            if draft is None:
                await self.log.started(self.attempt)
                draft = await self._reduce_or_fail(self.ladder)
            reduction = await self._reviewed(draft)
        except (asyncio.CancelledError, Discarded):
            await asyncio.shield(self.log.cancelled(self.attempt))
            raise
        except CondenseError as error:
            veto = await self.hooks.on_error(self.situation, error)
            await self._failed(error, () if veto else rest)
            if veto:
                raise Vetoed(veto.reason, cost=error.cost, calls=error.calls) from error
            raise
        try:
            return await self.log.succeeded(self.attempt, reduction)
        except CondenseError as error:
            await self._failed(error, rest)
            raise

    async def _reviewed(self, reduction: Reduction) -> Reduction:
        """Return the reduction as a person wants it, however often it is written for them."""
        by_model = asks_model(self.strategy)
        while True:
            scale = self.ladder.gauge.scale
            proposal = Proposal(reduction=reduction, by_model=by_model, scale=scale)
            answer = await self.reviewer.review(self.attempt, proposal)
            if not isinstance(answer, Accept):
                reduction = await self._again(reduction, answer.focus)
            elif answer.summary is None:
                return reduction
            else:
                reduction = proposal.edited(answer.summary, self.kit.counter)
                try:
                    self.ladder.check(reduction)
                except DidNotShrink as error:
                    # A person's words are not lost for that: they may shorten them.
                    reduction = replace(reduction, notes=(*reduction.notes, str(error)))
                else:
                    return reduction

    async def _again(self, reduction: Reduction, focus: str) -> Reduction:
        """Return another one, or the same with a note where that fails."""
        situation = replace(self.situation, focus=focus)
        try:
            return await self._reduce_or_fail(replace(self.ladder, situation=situation))
        except CondenseError as error:
            return replace(reduction, notes=(*reduction.notes, NOT_WRITTEN.format(error=error)))

    async def _reduce_or_fail(self, ladder: Ladder) -> Reduction:
        """Return the reduction; whatever a strategy raises is a failure of this rung only."""
        try:
            return await Trial(self.strategy, ladder, self.hooks, self.kit).reduce()
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

    def _describe(self, id_: str, summarizer: Summarizer, counter: TokenCounter) -> Attempt:
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
            focus=self.situation.focus,
            expected=expected_usage(self.ladder.gauge, prompt, summarizer, counter),
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
        await self.reviewer.heard(self.attempt, self._read)

    def _read(self) -> str:
        """Return what the call that answers has written of the summary."""
        return parse_summary(self.kit.bill.calls[-1].text).summary
