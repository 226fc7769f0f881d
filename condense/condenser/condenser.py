"""Condensers: try a rung, check that the context shrank, or go one rung down."""

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from condense.budget.budget import Budget
from condense.budget.situation import Environment, Gauge, Reduction, Situation, Trigger
from condense.condenser.attempt import AttemptRunner
from condense.condenser.due import Policy, is_due
from condense.condenser.hooks import HookRun, Hooks, Plan, PromptChoice, Veto
from condense.condenser.ladder import Ladder
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
from condense.history.effective_history import effective_history
from condense.history.tags import hide_behind
from condense.messages import Json, Message
from condense.reduction.strategy import Strategy
from condense.strategies import load_strategy
from condense.summaries.summarizer import Summarizer
from condense.tokens.counters import TiktokenCounter, TokenCount, TokenCounter

# Below any summary by the model: the facts alone, then less of the history.
FALLBACKS = ("ledger", "sliding_window")
# What not every model has is followed by what every model can do.
INSTEAD = {"provider": "fresh_start"}


def ladder_from(strategy: str, *, clear: bool = False) -> tuple[str, ...]:
    """Return the rungs from ``strategy``, a name or dotted path, down to truncation.

    With ``clear`` superseded tool output goes first.
    """
    fallbacks = FALLBACKS[FALLBACKS.index(strategy) + 1 :] if strategy in FALLBACKS else FALLBACKS
    first = (strategy, INSTEAD[strategy]) if strategy in INSTEAD else (strategy,)
    return (*(("clear",) if clear else ()), *first, *fallbacks)


LADDER = ladder_from("fresh_start")
DECIDED = "%s: %d tokens, threshold %s %% (%s) of %d: %s"

logger = logging.getLogger(__name__)


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
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self.summarizer = summarizer
        self.counter = counter
        self.strategies = [load_strategy(s) if isinstance(s, str) else s for s in strategies]
        self.policy = policy or Policy()
        self.hooks = hooks or Hooks()
        self.choose_prompt = choose_prompt or (lambda _situation: "")
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
        hooks, reason, answer = HookRun(self.hooks), situation.reason, None
        decides = situation.automatic and situation.may_ask and reason in {"threshold", None}
        if self.hooks.should_condense and decides:
            answer = await hooks.should_condense(situation)
        # Without a reason nothing is measured and no strategy is loaded.
        ladder = self._ladder(situation) if reason or answer else None
        due = ladder is not None and is_due(situation, self.policy, ladder.gauge, answer=answer)
        level, word = (logging.INFO, "due") if due else (logging.DEBUG, "not due")
        budget, size = situation.budget, situation.tokens.value
        limits = budget.threshold, budget.threshold_source, budget.window
        logger.log(level, DECIDED, situation.trigger, size, *limits, word)
        if ladder is None or not due:
            return None
        failures: list[CondenseError] = []
        try:
            ladder, rungs = await self._planned(ladder, hooks)
        except Vetoed as veto:
            failures, rungs = [veto], []
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
        ladder, hooks = self._ladder(situation), HookRun(self.hooks)
        (strategy,) = self._named([draft.strategy], hooks)
        return await self._attempt(strategy, ladder, hooks, attempt_id).run((), draft)

    def _ladder(self, situation: Situation) -> Ladder:
        return Ladder(situation, self.policy, Gauge(situation, self.counter), self.strategies)

    async def _planned(self, ladder: Ladder, hooks: HookRun) -> tuple[Ladder, list[Strategy]]:
        """Return situation and rungs as the hooks want them; raise Vetoed where they want none."""
        situation, rungs = ladder.situation, ladder.rungs()
        before = Plan(
            situation=situation,
            strategies=tuple([strategy.name for strategy in rungs]),
            prompt=situation.prompt,
            focus=situation.focus,
            prompt_key=hooks.prompt_key(self.choose_prompt, situation),
        )
        plan = await hooks.plan(before)
        if isinstance(plan, Veto):
            raise Vetoed(plan.reason)
        situation = replace(
            situation,
            prompt=plan.prompt or "",
            focus=plan.focus or "",
            prompt_key=hooks.known_key(plan.prompt_key) or before.prompt_key,
        )
        if plan.strategies != before.strategies:
            rungs = ladder.allowed(self._named(plan.strategies, hooks))
            if not rungs:
                said = "A hook planned nothing that could be tried."
                raise Vetoed(said, details="\n".join(hooks.troubles))
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

    def _attempt(
        self, strategy: Strategy, ladder: Ladder, hooks: HookRun, attempt_id: str = ""
    ) -> AttemptRunner:
        return AttemptRunner(
            strategy=strategy,
            ladder=ladder,
            hooks=hooks,
            log=self.log,
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
            said = f"Nothing more can be hidden to make the context fit: {floor}. {floor.advice}"
            details = "\n\n".join([f"{one}\n{one.details}".strip() for one in failures])
            error = CannotFit(said, details=details)
            error.floor = floor
        error.cost = sum([one.cost for one in failures], Decimal(0))
        error.calls = sum([one.calls for one in failures])
        raise error


@dataclass(frozen=True, slots=True)
class Condensed:
    """A whole history after a run, and what was done; None and unchanged where nothing was due."""

    messages: Sequence[Message]
    reduction: Reduction | None


async def condense(
    messages: Sequence[Message],
    *,
    summarizer: Summarizer,
    counter: TokenCounter | None = None,
    budget: Budget | None = None,
    trigger: Trigger = Trigger.MANUAL,
    system: str = "",
    tools: Sequence[Json] = (),
    prompt: str = "",
    focus: str = "",
    environment: Environment | None = None,
    hooks: Hooks | None = None,
    log: CondensationLog | None = None,
) -> Condensed:
    """Return a whole tagged history with what the model has read hidden behind a summary.

    Only the model's summary is tried. Without a ``budget`` the window is that of Claude's models,
    200,000 tokens. ``Hooks(after=(attach_ledger, AttachFoldedFiles(workspace)))`` adds the facts of
    what is hidden, and the files that were read there as signatures. Raises NothingToCondense,
    SummaryFailed, DidNotShrink or CannotFit; ``messages`` never change.
    """
    counter = counter or TiktokenCounter()
    situation = Situation(
        effective=effective_history(messages),
        history=tuple(messages),
        tokens=TokenCount(0),
        budget=budget or Budget(window=200_000),
        trigger=trigger,
        system=system,
        tools=tuple(tools),
        prompt=prompt,
        focus=focus,
        environment=environment,
    )
    situation = replace(situation, tokens=TokenCount(Gauge(situation, counter).before))
    policy = Policy(small_window=0)
    condenser = Condenser(
        summarizer, counter, ("fresh_start",), policy=policy, hooks=hooks, log=log
    )
    reduction = await condenser.fit(situation)
    if reduction is None:
        return Condensed(messages, None)
    return Condensed(hide_behind(messages, reduction.hidden, reduction.message), reduction)
