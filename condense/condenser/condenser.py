"""The orchestrator: try a rung, check that the context shrank, or go one rung down."""

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from condense.condenser.attempt import AttemptRunner
from condense.condenser.events import ToldLog
from condense.condenser.hooks import HookRun, Hooks, Plan, PromptChoice, Veto
from condense.condenser.ladder import Ladder, ladder_from
from condense.condenser.log import CondensationLog, NullLog
from condense.condenser.review import NoReview, Reviewer
from condense.errors import (
    CannotFit,
    CondenseError,
    DidNotShrink,
    Discarded,
    NothingToCondense,
    Vetoed,
)
from condense.situation import Decision, Gauge, Policy, Reduction, Situation, Trigger
from condense.strategies import Strategy, load_strategy
from condense.tokens import TokenCounter
from condense.writing.summarizer import Summarizer

LADDER = ladder_from("fresh_start")
DECIDED = "%s: %d tokens, threshold %s %% (%s) of %d: %s"

logger = logging.getLogger(__name__)


def _log_decision(situation: Situation, *, is_due: bool) -> None:
    budget, word = situation.budget, "due" if is_due else "not due"
    limits = budget.threshold, budget.threshold_source, budget.window
    level = logging.INFO if is_due else logging.DEBUG
    logger.log(level, DECIDED, situation.trigger, situation.tokens.value, *limits, word)


def _default_prompt(_situation: Situation) -> str:
    return ""


def _uuid() -> str:
    return str(uuid.uuid4())


class Condenser:
    """Keeps a context within its budget; holds nothing about any conversation.

    ``strategies`` are names, dotted paths or objects, tried in this order. ``choose_prompt`` gives
    the key of the prompt for a situation, "" for the default.
    """

    def __init__(
        self,
        summarizer: Summarizer,
        counter: TokenCounter,
        strategies: Sequence[str | Strategy] = LADDER,
        *,
        policy: Policy | None = None,
        hooks: Hooks | None = None,
        choose_prompt: PromptChoice | None = None,
        log: CondensationLog | None = None,
        reviewer: Reviewer | None = None,
        new_id: Callable[[], str] = _uuid,
    ) -> None:
        """Take the model that summarises, the counter, who keeps the record, and who reviews."""
        self.summarizer = summarizer
        self.counter = counter
        self.strategies = [load_strategy(s) if isinstance(s, str) else s for s in strategies]
        self.policy = policy or Policy()
        self.hooks = hooks or Hooks()
        self.choose_prompt = choose_prompt or _default_prompt
        self.log = log or NullLog()
        self.reviewer = reviewer or NoReview()
        self.new_id = new_id

    async def fit(self, situation: Situation) -> Reduction | None:
        """Return the reduction that the log was told to apply, None where none is needed.

        Raises NothingToCondense, SummaryFailed, DidNotShrink or Vetoed when a manual run fails.
        Where the context is too large, raises CannotFit when nothing more can be hidden, and what
        the last rung failed with when that is something else. An automatic run below the limit
        gives None when it fails. Raises Discarded where a reviewer does.
        """
        ladder = Ladder(situation, self.policy, Gauge(situation, self.counter), self.strategies)
        hooks = HookRun(self.hooks)
        if not await self._is_due(ladder.decision, hooks):
            return None
        failures: list[CondenseError] = []
        ladder, rungs = await self._planned(ladder, hooks, failures)
        while rungs:
            try:
                return await self._attempt(rungs[0], ladder, hooks).run(rungs[1:])
            except Discarded:
                raise
            except CondenseError as error:
                failures.append(error)
                rungs = ladder.after(rungs[1:], error)
        self._give_up(ladder, failures)
        return None

    async def resume(self, situation: Situation, attempt_id: str, draft: Reduction) -> Reduction:
        """Go on with an attempt that was broken off while its ``draft`` was reviewed.

        Returns what was applied, and raises as ``fit`` does; no other rung is tried.
        """
        ladder = Ladder(situation, self.policy, Gauge(situation, self.counter), self.strategies)
        hooks = HookRun(self.hooks)
        (strategy,) = self._named([draft.strategy], hooks)
        return await self._attempt(strategy, ladder, hooks, attempt_id).run((), draft)

    async def _is_due(self, decision: Decision, hooks: HookRun) -> bool:
        """Whether to try anything: as a hook wants it where the threshold would decide."""
        situation, answer = decision.situation, None
        if decision.is_by_threshold:
            answer = await hooks.should_condense(situation)
        is_due = decision.is_due(answer)
        _log_decision(situation, is_due=is_due)
        return is_due

    async def _planned(
        self, ladder: Ladder, hooks: HookRun, failures: list[CondenseError]
    ) -> tuple[Ladder, list[Strategy]]:
        """Return situation and rungs as the hooks want them; a veto leaves no rung."""
        rungs = ladder.rungs()
        before = self._plan(ladder.situation, rungs, hooks)
        plan = await hooks.plan(before)
        if isinstance(plan, Veto):
            failures.append(Vetoed(plan.reason))
            return ladder, []
        situation = replace(
            ladder.situation,
            prompt=plan.prompt or "",
            focus=plan.focus or "",
            prompt_key=hooks.known_key(plan.prompt_key) or before.prompt_key,
        )
        if plan.strategies != before.strategies:
            rungs = ladder.allowed(self._named(plan.strategies, hooks))
            if not rungs:
                said = "A hook planned nothing that could be tried."
                failures.append(Vetoed(said, details="\n".join(hooks.troubles)))
        return replace(ladder, situation=situation), rungs

    def _plan(self, situation: Situation, rungs: Sequence[Strategy], hooks: HookRun) -> Plan:
        return Plan(
            situation=situation,
            strategies=tuple(strategy.name for strategy in rungs),
            prompt=situation.prompt,
            focus=situation.focus,
            prompt_key=hooks.prompt_key(self.choose_prompt, situation),
        )

    def _named(self, names: Sequence[str], hooks: HookRun) -> list[Strategy]:
        known = {strategy.name: strategy for strategy in self.strategies}
        found: list[Strategy] = []
        for name in names:
            try:
                found.append(known.get(name) or load_strategy(name))
            except Exception as error:  # noqa: BLE001 - the path may name anything
                hooks.troubles.append(f"A hook planned the strategy {name!r}: {error}")
        return found

    def _attempt(
        self, strategy: Strategy, ladder: Ladder, hooks: HookRun, attempt_id: str = ""
    ) -> AttemptRunner:
        return AttemptRunner(
            strategy,
            ladder=ladder,
            hooks=hooks,
            log=ToldLog(self.log, hooks.tell),
            reviewer=self.reviewer,
            summarizer=self.summarizer,
            counter=self.counter,
            new_id=self.new_id,
            attempt_id=attempt_id,
        )

    def _give_up(self, ladder: Ladder, failures: Sequence[CondenseError]) -> None:
        """Return where the request may be sent as it is; raise the reason otherwise."""
        if ladder.may_be_sent():
            return
        error = failures[-1] if failures else None
        nothing_more = error is None or isinstance(error, NothingToCondense | DidNotShrink)
        if error is None or (nothing_more and ladder.situation.trigger is not Trigger.MANUAL):
            floor = ladder.floor(self.counter)
            error = CannotFit(
                f"Nothing more can be hidden to make the context fit: {floor}. {floor.advice}",
                details="\n\n".join(f"{one}\n{one.details}".strip() for one in failures),
                floor=floor,
            )
        error.cost = sum((one.cost for one in failures), Decimal(0))
        error.calls = sum(one.calls for one in failures)
        raise error
