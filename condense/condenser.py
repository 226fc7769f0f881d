"""The orchestrator: try a rung, check that the context shrank, or go one rung down."""

import logging
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from condense.attempts import Attempt, CondensationLog, NullLog
from condense.errors import CannotFit, CondenseError, DidNotShrink, Vetoed
from condense.failure import describe
from condense.hooks import (
    After,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    FellBack,
    HookRun,
    Hooks,
    Plan,
    Veto,
)
from condense.ladder import Ladder, ladder_from, rungs_after
from condense.messages import Block
from condense.policy import Policy
from condense.situation import Addition, Gauge, Reduction, Situation, Trigger
from condense.strategies import Kit, Strategy, load_strategy
from condense.summarizer import Summarizer
from condense.tokens import TokenCounter

log = logging.getLogger(__name__)

LADDER = ladder_from("fresh_start")


def _uuid() -> str:
    return str(uuid.uuid4())


class Condenser:
    """Keeps a context within its budget; holds nothing about any conversation.

    ``strategies`` are names, dotted paths or objects, tried in this order.
    """

    def __init__(
        self,
        summarizer: Summarizer,
        counter: TokenCounter,
        strategies: Sequence[str | Strategy] = LADDER,
        *,
        policy: Policy | None = None,
        hooks: Hooks | None = None,
        log: CondensationLog | None = None,
        new_id: Callable[[], str] = _uuid,
    ) -> None:
        """Take the model that summarises, the counter, and whoever keeps the record."""
        self.summarizer = summarizer
        self.counter = counter
        self.strategies = [load_strategy(s) if isinstance(s, str) else s for s in strategies]
        self.policy = policy or Policy()
        self.hooks = hooks or Hooks()
        self.log = log or NullLog()
        self.new_id = new_id

    async def fit(self, situation: Situation) -> Reduction | None:
        """Return the reduction that the log was told to apply, None where none is needed.

        Raises NothingToCondense, SummaryFailed, DidNotShrink or Vetoed when a manual run fails,
        and CannotFit when the context is too large and nothing made it smaller. An automatic run
        below the limit gives None when it fails.
        """
        ladder = Ladder(situation, self.policy, Gauge(situation, self.counter))
        if not ladder.is_due:
            return None
        hooks = HookRun(self.hooks)
        failures: list[CondenseError] = []
        ladder, rungs = await self._planned(ladder, hooks, failures)
        while rungs:
            try:
                return await _Try(self, ladder, hooks, rungs[0]).run(rungs[1:])
            except CondenseError as error:
                failures.append(error)
                rungs = rungs_after(rungs[1:], error)
        self._give_up(ladder, failures)
        return None

    async def _planned(
        self, ladder: Ladder, hooks: HookRun, failures: list[CondenseError]
    ) -> tuple[Ladder, list[Strategy]]:
        """Return situation and rungs as the hooks want them; a veto leaves no rung."""
        rungs, situation = ladder.rungs(self.strategies), ladder.situation
        names = tuple(strategy.name for strategy in rungs)
        before = Plan(
            situation=situation, strategies=names, prompt=situation.prompt, focus=situation.focus
        )
        plan = await hooks.plan(before)
        if isinstance(plan, Veto):
            failures.append(Vetoed(plan.reason))
            return ladder, []
        situation = replace(situation, prompt=plan.prompt or "", focus=plan.focus or "")
        if plan.strategies != names:
            rungs = ladder.allowed(self._named(plan.strategies, hooks))
            if not rungs:
                said = "A hook planned nothing that could be tried."
                failures.append(Vetoed(said, details="\n".join(hooks.troubles)))
        return replace(ladder, situation=situation), rungs

    def _named(self, names: Sequence[str], hooks: HookRun) -> list[Strategy]:
        known = {strategy.name: strategy for strategy in self.strategies}
        found: list[Strategy] = []
        for name in names:
            try:
                found.append(known.get(name) or load_strategy(name))
            except Exception as error:  # noqa: BLE001 - the path may name anything
                hooks.troubles.append(f"A hook planned the strategy {name!r}: {error}")
        return found

    def _give_up(self, ladder: Ladder, failures: Sequence[CondenseError]) -> None:
        """Return where the request may be sent as it is; raise the reason otherwise."""
        if ladder.situation.trigger is Trigger.MANUAL and failures:
            raise failures[-1]
        if ladder.may_be_sent():
            return
        if failures and isinstance(failures[-1], Vetoed):
            raise failures[-1]
        floor = ladder.floor(self.counter)
        raise CannotFit(
            f"Nothing more can be hidden to make the context fit: {floor}. {floor.advice}",
            details="\n\n".join(f"{error}\n{error.details}".strip() for error in failures),
            cost=sum((error.cost for error in failures), Decimal(0)),
            calls=sum(error.calls for error in failures),
            floor=floor,
        )


class _Try:
    """One strategy's attempt, on record from its start to its end."""

    def __init__(
        self, condenser: Condenser, ladder: Ladder, hooks: HookRun, strategy: Strategy
    ) -> None:
        self.condenser = condenser
        self.log = condenser.log
        self.ladder = ladder
        self.situation = ladder.situation
        self.hooks = hooks
        self.strategy = strategy
        self.attempt = self._describe()
        self.kit = self._kit()

    async def run(self, rest: Sequence[Strategy]) -> Reduction:
        """Return the reduction that was applied, or raise why there is none."""
        import asyncio  # noqa: PLC0415 - takes as long as all the rest of the engine

        try:
            await self.log.started(self.attempt)
            self.hooks.tell(AttemptStarted(self.attempt))
            reduction = await self._reduce_or_fail()
        except asyncio.CancelledError:
            await asyncio.shield(self.log.cancelled(self.attempt.id))
            raise
        except CondenseError as error:
            await self._failed(error, rest)
            raise
        await self.log.succeeded(self.attempt.id, reduction)
        self.hooks.tell(AttemptSucceeded(self.attempt, reduction))
        return reduction

    async def _reduce_or_fail(self) -> Reduction:
        """Return the reduction; whatever a strategy raises is a failure of this rung only."""
        try:
            return await self._reduce()
        except CondenseError:
            raise
        except Exception as error:
            log.exception("the strategy %s failed unexpectedly", self.strategy.name)
            said = f"The strategy {self.strategy.name} failed unexpectedly"
            raise CondenseError(said, details=describe(error)) from error

    async def _reduce(self) -> Reduction:
        reduction = await self.strategy.reduce(self.situation, self.kit)
        self.ladder.check(reduction)
        for hook in self.hooks.hooks.after:
            for addition in await self.hooks.additions(hook, self.situation, reduction):
                reduction = self._extended(reduction, addition, hook)
        return await self.hooks.judged(self.situation, reduction)

    def _extended(self, reduction: Reduction, addition: Addition, hook: After) -> Reduction:
        """Return the reduction with what a hook adds, unless that is too much."""
        extended = self._longer(reduction, addition.blocks) if addition.blocks else reduction
        try:
            self.ladder.check(extended)
        except DidNotShrink:
            self.hooks.note_left_out(hook)
            extended, addition = reduction, addition.left_out()
        notes = (*reduction.notes, *addition.notes)
        return replace(extended, notes=notes, folded=addition.folded or reduction.folded)

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
        following = next((one.name for one in rungs_after(rest, error)), None)
        await self.log.failed(self.attempt.id, error, fell_back_to=following)
        self.hooks.tell(AttemptFailed(self.attempt, error))
        if following:
            self.hooks.tell(FellBack(self.attempt, following))

    def _describe(self) -> Attempt:
        budget = self.situation.budget
        return Attempt(
            id=self.condenser.new_id(),
            strategy=self.strategy.name,
            kind=self.strategy.kind,
            trigger=self.situation.trigger,
            threshold=budget.effective_threshold,
            threshold_source=budget.threshold_source,
            tokens_before=self.situation.tokens,
            prompt=self._prompt(),
        )

    def _prompt(self) -> str:
        try:
            return self.strategy.prompt_for(self.situation)
        except Exception as error:  # noqa: BLE001 - a strategy may be anybody's
            self.hooks.troubles.append(f"The prompt is not on record: {error}")
            return ""

    def _kit(self) -> Kit:
        written = 0

        async def on_text(text: str) -> None:
            nonlocal written
            written += len(text)
            # The same rule of thumb as CharacterCounter: exact counts of pieces would not add up.
            await self.log.progressed(self.attempt.id, math.ceil(written / 4))

        condenser = self.condenser
        return Kit(
            summarizer=condenser.summarizer,
            counter=condenser.counter,
            new_id=condenser.new_id,
            on_text=on_text,
        )
