"""Condensers and their settings: try a rung, check that the context shrank, or try the next."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from condense import errors
from condense.budget.budget import BUFFER, Budget, Fixed, Resolver, with_threshold
from condense.budget.situation import Environment, Gauge, Reduction, Situation, Trigger
from condense.condenser.attempt import AttemptRunner
from condense.condenser.hooks import HookRun, Hooks, PromptChoice
from condense.condenser.ladder import FALLBACKS, INSTEAD, LADDER, Ladder, Policy
from condense.condenser.log import CondensationLog, NullLog
from condense.condenser.review import NoReview, Reviewer
from condense.history.effective_history import effective_history
from condense.history.tags import hide_behind
from condense.messages import Json, Message
from condense.reduction.strategy import Strategy, asks_model
from condense.sentences import noop, say
from condense.strategies import load_strategy
from condense.summaries.summarizer import Kit, Summarizer
from condense.tokens.counters import TiktokenCounter, TokenCount, TokenCounter

NOTHING_MORE = noop("Nothing more can be hidden to make the context fit: {floor}. {advice}")
STOPS = noop(
    "The context is full, and truncation is off: {floor}. Allow it in the settings. {advice}"
)
DECIDED = "%s: %s, %d messages: %s"

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
    ) -> None:
        self.kit = Kit(summarizer=summarizer, counter=counter)
        self.strategies = [load_strategy(s) if isinstance(s, str) else s for s in strategies]
        self.policy = policy or Policy()
        self.hooks = hooks or Hooks()
        self.choose_prompt = choose_prompt
        self.log = log or NullLog()
        self.reviewer = reviewer or NoReview()

    async def fit(self, situation: Situation) -> Reduction | None:
        """Return the reduction that the log has applied, None if none is needed.

        Raises NothingToCondense, SummaryFailed, DidNotShrink or Vetoed when a manual run fails. If
        the context is too large, raises CannotFit when nothing more can be hidden, and the last
        rung's error when that is another one. An automatic run below the limit gives None when it
        fails. Raises Discarded if a reviewer does.
        """
        hooks, reason, answer = HookRun(self.hooks), situation.reason, None
        decides = situation.automatic and situation.may_ask and reason in {"threshold", None}
        if self.hooks.should_condense and decides:
            answer = await hooks.should_condense(situation)
        # Without a reason nothing is measured and no strategy is loaded.
        ladder = await asyncio.to_thread(self._ladder, situation) if reason or answer else None
        due = ladder is not None and ladder.is_due(answer)
        level, word = (logging.INFO, "due") if due else (logging.DEBUG, "not due")
        usage = situation.budget.describe(situation.tokens.value), len(situation.effective)
        logger.log(level, DECIDED, situation.trigger, *usage, word)
        if ladder is None or not due:
            return None
        failures: list[errors.CondenseError] = []
        try:
            ladder, rungs = await self._planned(ladder, hooks)
        except errors.Vetoed as veto:
            failures, rungs = [veto], []
            for first in ladder.rungs()[:1]:
                await (await asyncio.to_thread(self._attempt, first, ladder, hooks)).vetoed(veto)
        refused: Reduction | None = None
        while rungs:
            given = rungs[0], ladder, hooks
            attempt = await asyncio.to_thread(self._attempt, *given, refused=refused)
            try:
                return await attempt.run(rungs[1:])
            except errors.Discarded:
                raise
            except errors.CondenseError as error:
                failures.append(error)
                rungs, refused = ladder.after(rungs[1:], error), attempt.refused
        self._give_up(ladder, failures)
        return None

    async def resume(
        self,
        situation: Situation,
        attempt_id: str,
        draft: Reduction,
        refused: Reduction | None = None,
    ) -> Reduction:
        """Go on with an attempt that was broken off while its ``draft`` was reviewed.

        Returns the applied reduction, and raises as ``fit`` does; no other rung is tried.
        """
        ladder = await asyncio.to_thread(self._ladder, situation)
        hooks = HookRun(self.hooks)
        (strategy,) = self._named([draft.strategy], hooks)
        attempt = self._attempt(strategy, ladder, hooks, id_=attempt_id, refused=refused)
        return await attempt.run((), draft)

    def _attempt(
        self, strategy: Strategy, ladder: Ladder, hooks: HookRun, **more: Any
    ) -> AttemptRunner:
        return AttemptRunner(strategy, ladder, hooks, self.kit, self.log, self.reviewer, **more)

    def _ladder(self, situation: Situation) -> Ladder:
        return Ladder(situation, self.policy, Gauge(situation, self.kit.counter), self.strategies)

    async def _planned(self, ladder: Ladder, hooks: HookRun) -> tuple[Ladder, list[Strategy]]:
        """Return the ladder and rungs as the hooks plan them; raise Vetoed if no rung remains."""
        rungs = ladder.rungs()
        names = tuple([strategy.name for strategy in rungs])
        plan = await hooks.plan(ladder.situation, names, self.choose_prompt)
        situation = replace(
            ladder.situation,
            prompt=plan.prompt or "",
            focus=plan.focus or "",
            prompt_key=plan.prompt_key,
        )
        if plan.strategies != names:
            named = self._named(plan.strategies, hooks)
            rungs = [one for one in named if situation.may_ask or not asks_model(one)]
            if not rungs:
                said = noop("A hook planned nothing that could be tried.")
                raise errors.Vetoed(said, details="\n".join(hooks.troubles))
        return replace(ladder, situation=situation), rungs

    def _named(self, names: Sequence[str], hooks: HookRun) -> list[Strategy]:
        known = {strategy.name: strategy for strategy in self.strategies}
        found: list[Strategy] = []
        for name in names:
            try:
                found.append(known.get(name) or load_strategy(name))
            except Exception as error:  # noqa: BLE001 - the path may name anything
                hooks.troubles.append(
                    say("A hook planned the strategy {name!r}: {error}", name=name, error=error)
                )
        return found

    def _give_up(self, ladder: Ladder, failures: Sequence[errors.CondenseError]) -> None:
        """Return if the request may be sent as it is; raise the reason otherwise."""
        situation = ladder.situation
        if situation.fits and situation.trigger is Trigger.AUTO:
            return
        error = failures[-1] if failures else None
        nothing_more = error is None or isinstance(
            error, errors.NothingToCondense | errors.DidNotShrink
        )
        if error is None or (nothing_more and situation.trigger is not Trigger.MANUAL):
            floor = ladder.floor()
            truncates = any(one.kind == "truncated" for one in self.strategies)
            said = (NOTHING_MORE if truncates else STOPS).format(floor=floor, advice=floor.advice)
            details = "\n\n".join([f"{one}\n{one.details}".strip() for one in failures])
            error = errors.CannotFit(said, details=details)
            error.floor = floor
        error.cost = sum([one.cost for one in failures], Decimal(0))
        error.calls = sum([one.calls for one in failures])
        raise error


def ladder_from(strategy: str, *, clear: bool = False, alone: bool = False) -> tuple[str, ...]:
    """Return the rungs from ``strategy``, a name or dotted path, down to truncation.

    ``clear`` adds a clearing in front; ``alone`` leaves out ledger and truncation as fallbacks.
    """
    fallbacks = FALLBACKS[FALLBACKS.index(strategy) + 1 :] if strategy in FALLBACKS else FALLBACKS
    first = (strategy, INSTEAD[strategy]) if strategy in INSTEAD else (strategy,)
    return (*(("clear",) if clear else ()), *first, *(() if alone else fallbacks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The settings of condensing; ``replace`` makes a changed copy."""

    strategies: Sequence[str | Strategy] = LADDER  # the rungs
    thresholds: tuple[Resolver, ...] = (Fixed(100),)  # resolvers of the starting point
    buffer: float = BUFFER  # share of a window for wrong estimates
    policy: Policy = field(default_factory=Policy)  # the ladder's numbers
    hooks: Hooks = field(default_factory=Hooks)
    automatic: bool = True  # the user's switch
    prompt: str = ""  # the user's
    choose_prompt: PromptChoice | None = None  # names the prompt if there is none

    def condenser(
        self,
        summarizer: Summarizer,
        counter: TokenCounter,
        *,
        log: CondensationLog | None = None,
        reviewer: Reviewer | None = None,
    ) -> Condenser:
        """Return the condenser of these settings."""
        return Condenser(
            summarizer,
            counter,
            self.strategies,
            policy=self.policy,
            hooks=self.hooks,
            choose_prompt=self.choose_prompt,
            log=log,
            reviewer=reviewer,
        )

    def budget(self, window: int, max_output: int | None = None, **asked: Any) -> Budget:
        """Return a model's budget; each resolver of thresholds gets the ``asked`` fields."""
        allowed = Budget(window=window, max_output=max_output, buffer=self.buffer)
        return with_threshold(allowed, self.thresholds, **asked)

    def situation(
        self, effective: Sequence[Message], tokens: TokenCount, budget: Budget, **rest: Any
    ) -> Situation:
        """Return a conversation's situation with the user's settings in it."""
        choices = {"automatic": self.automatic, "prompt": self.prompt}
        return Situation(
            effective=tuple(effective), tokens=tokens, budget=budget, **{**choices, **rest}
        )


@dataclass(frozen=True, slots=True)
class Condensed:
    """A whole history after a run, and its reduction; unchanged and None if none was due."""

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
    find_contradictions: bool = False,
) -> Condensed:
    """Return a whole tagged history, with the messages that were read hidden behind a summary.

    Only the model's summary is tried. Without a ``budget`` the window is that of Claude's models,
    200,000 tokens. ``Hooks(after=(attach_ledger, AttachFoldedFiles(workspace)))`` adds the facts of
    the hidden messages, and the files that were read there as signatures. ``find_contradictions``
    has the model compare its summary with these facts in another call. Raises NothingToCondense,
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
    policy = Policy(small_window=0, finds_contradictions=find_contradictions)
    condenser = Condenser(
        summarizer, counter, ("fresh_start",), policy=policy, hooks=hooks, log=log
    )
    reduction = await condenser.fit(situation)
    if reduction is None:
        return Condensed(messages, None)
    return Condensed(hide_behind(messages, reduction.hidden, reduction.message), reduction)
