"""The ladder: try a strategy, check that the context shrank, or go one rung down."""

import asyncio
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from condense.attempts import Attempt, CondensationLog, NullLog
from condense.boundaries import unread_tail
from condense.budget import Budget
from condense.errors import CannotFit, CondenseError, DidNotShrink, NothingToCondense
from condense.failure import describe
from condense.messages import Json, Message
from condense.situation import Environment, Reduction, Situation, Trigger
from condense.strategies import Kit, Strategy, load_strategy
from condense.strategies.base import Gauge, require_enough
from condense.summarizer import Summarizer
from condense.tagging import effective_history, hide_behind
from condense.tokens import TiktokenCounter, TokenCount, TokenCounter, count_message

LADDER = ("fresh_start", "sliding_window")


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
        log: CondensationLog | None = None,
        new_id: Callable[[], str] = _uuid,
    ) -> None:
        """Take the model that summarises, the counter, and whoever keeps the record."""
        self.summarizer = summarizer
        self.counter = counter
        self.strategies = [load_strategy(s) if isinstance(s, str) else s for s in strategies]
        self.log = log or NullLog()
        self.new_id = new_id

    async def fit(self, situation: Situation) -> Reduction | None:
        """Return the reduction that the log was told to apply, None where none is needed.

        Raises NothingToCondense, SummaryFailed or DidNotShrink when a manual run fails, and
        CannotFit when the context is too large and nothing made it smaller. An automatic run
        below the limit gives None when it fails.
        """
        if not self._is_due(situation):
            return None
        failures: list[CondenseError] = []
        ladder = self._ladder(situation)
        for strategy, following in zip(ladder, (*ladder[1:], None), strict=True):
            try:
                return await self._attempt(strategy, situation, following)
            except CondenseError as error:
                failures.append(error)
        self._give_up(situation, failures)
        return None

    def _is_due(self, situation: Situation) -> bool:
        if situation.trigger is not Trigger.AUTO:
            return True
        if situation.is_over:
            return True
        budget, effective = situation.budget, situation.effective
        due = budget.should_condense(situation.tokens.value, automatic=situation.automatic)
        return due and _has_news(effective)

    def _ladder(self, situation: Situation) -> list[Strategy]:
        """Return what may be tried: a manual run only summarises, the switch off only truncates."""
        optional = situation.trigger is Trigger.AUTO and not situation.is_over
        kinds = {"condensed", "truncated"}
        if situation.trigger is Trigger.MANUAL or optional:
            kinds = {"condensed"}
        elif not situation.automatic:
            kinds = {"truncated"}
        return [strategy for strategy in self.strategies if strategy.kind in kinds]

    async def _attempt(
        self, strategy: Strategy, situation: Situation, following: Strategy | None
    ) -> Reduction:
        attempt = self._describe(strategy, situation)
        try:
            await self.log.started(attempt)
            reduction = await strategy.reduce(situation, self._kit(attempt.id))
            check_shrunk(situation, reduction)
        except asyncio.CancelledError:
            await asyncio.shield(self.log.cancelled(attempt.id))
            raise
        except CondenseError as error:
            next_name = following.name if following else None
            await self.log.failed(attempt.id, error, fell_back_to=next_name)
            raise
        except Exception as error:
            unexpected = CondenseError("Condensing failed unexpectedly", details=describe(error))
            await self.log.failed(attempt.id, unexpected)
            raise
        await self.log.succeeded(attempt.id, reduction)
        return reduction

    def _describe(self, strategy: Strategy, situation: Situation) -> Attempt:
        return Attempt(
            id=self.new_id(),
            strategy=strategy.name,
            kind=strategy.kind,
            trigger=situation.trigger,
            threshold=situation.budget.effective_threshold,
            threshold_source=situation.budget.threshold_source,
            tokens_before=situation.tokens,
            prompt=strategy.prompt_for(situation),
        )

    def _kit(self, attempt_id: str) -> Kit:
        written = 0

        async def on_text(text: str) -> None:
            nonlocal written
            written += len(text)
            # The same rule of thumb as CharacterCounter: exact counts of pieces would not add up.
            await self.log.progressed(attempt_id, math.ceil(written / 4))

        return Kit(
            summarizer=self.summarizer, counter=self.counter, new_id=self.new_id, on_text=on_text
        )

    def _give_up(self, situation: Situation, failures: Sequence[CondenseError]) -> None:
        """Return where the request may be sent as it is; raise the reason otherwise."""
        if situation.trigger is Trigger.MANUAL and failures:
            raise failures[-1]
        budget, tokens = situation.budget, situation.tokens.value
        # The tenth that the budget keeps free is for estimates; a request may still use it.
        if situation.trigger is Trigger.AUTO and tokens <= budget.window - budget.reserved:
            return
        raise CannotFit(
            self._sizes(situation),
            details="\n\n".join(f"{error}\n{error.details}".strip() for error in failures),
            cost=sum((error.cost for error in failures), Decimal(0)),
        )

    def _sizes(self, situation: Situation) -> str:
        counter, effective = self.counter, situation.effective
        newest = count_message(effective[-1], counter) if effective else 0
        return (
            f"Nothing more can be hidden to make the context fit: system prompt "
            f"{counter.count(situation.system):,} + tools {situation.tools_tokens(counter):,} + "
            f"newest message {newest:,} tokens, and {int(situation.budget.allowed):,} are allowed"
        )


def _has_news(effective: Sequence[Message]) -> bool:
    """Whether a summary would say anything new, so that no attempt is made on every request."""
    try:
        require_enough(effective, effective[: unread_tail(effective)])
    except NothingToCondense:
        return False
    return True


def check_shrunk(situation: Situation, reduction: Reduction) -> None:
    """Raise DidNotShrink unless the context got smaller, and small enough in a forced run."""
    before, after = reduction.tokens_before.value, reduction.tokens_after.value
    if after >= before:
        reason = f"The context would not get smaller: {before:,} → {after:,} tokens"
    elif situation.trigger is Trigger.FORCED and situation.budget.exceeds(after):
        allowed = int(situation.budget.allowed)
        reason = f"The context would still be too large: {after:,} tokens, {allowed:,} allowed"
    else:
        return
    raise DidNotShrink(reason, details=reduction.message.text, cost=reduction.cost)


@dataclass(frozen=True, slots=True)
class Condensation:
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
    log: CondensationLog | None = None,
) -> Condensation:
    """Return a whole tagged history with what the model has read hidden behind a summary.

    Without a ``budget`` the window is that of Claude's models, 200,000 tokens. Raises
    NothingToCondense, SummaryFailed, DidNotShrink or CannotFit; ``messages`` never change.
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
    condenser = Condenser(summarizer, counter, ("fresh_start",), log=log)
    reduction = await condenser.fit(situation)
    if reduction is None:
        return Condensation(messages, None)
    return Condensation(hide_behind(messages, reduction.hidden, reduction.message), reduction)
