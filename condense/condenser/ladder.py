"""Ladders: the strategies that a run may try, one after another, and what counts as progress."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from condense.budget.situation import Gauge, Reduction, Situation, Trigger
from condense.condenser.due import Policy, has_come_far
from condense.errors import (
    CondenseError,
    DidNotShrink,
    Floor,
    SummaryRejected,
    Vetoed,
)
from condense.history.tags import replace_hidden
from condense.reduction.carryover import carried_pins, loses_pins
from condense.reduction.chosen_part import ChosenMessages, ChosenResult, FromOriginals
from condense.reduction.strategy import Strategy, asks_model
from condense.strategies import load_strategy
from condense.tokens.counters import TokenCounter, count_message, count_tools

LOSES_PINS = "The strategy {name} would lose what is pinned"


@dataclass(frozen=True, slots=True)
class Ladder:
    """Decides for one situation; ``policy`` has the numbers, ``gauge`` the sizes.

    ``strategies`` are all that the condenser has.
    """

    situation: Situation
    policy: Policy
    gauge: Gauge
    strategies: Sequence[Strategy] = ()

    def rungs(self) -> list[Strategy]:
        """Return what may be tried, in this order.

        A small window is only truncated. A run below the limit and one by hand try the strategy
        that was chosen and others that ask the model: what loses more can wait until it must be,
        and whoever pressed the button can press "Retry". A focus is for a summary to follow, so
        with one nothing is only cleared. What a person chose is condensed as it is, or not at all.
        """
        situation, strategies = self.situation, self.strategies
        if chosen := situation.chosen:
            if chosen.originals:
                return [FromOriginals()]
            return [ChosenResult() if chosen.call else ChosenMessages()]
        truncating = [one for one in strategies if one.kind == "truncated"]
        if situation.budget.window < self.policy.small_window:
            return truncating or [load_strategy("sliding_window")]
        clearing = [one for one in strategies if one.kind == "cleared" and not situation.focus]
        condensing = [one for one in strategies if one.kind != "cleared"]
        asked = situation.trigger is Trigger.MANUAL
        if not (asked or situation.automatic):
            return [*clearing, *truncating]
        if asked or not situation.is_over:
            return [*clearing, *condensing[:1], *filter(asks_model, condensing[1:])]
        far = situation.trigger is Trigger.FORCED or has_come_far(
            situation, self.policy, self.gauge
        )
        return [one for one in strategies if not asks_model(one) or (far and situation.may_ask)]

    def allowed(self, planned: Sequence[Strategy]) -> list[Strategy]:
        """Leave out of a plan what asks the model where it must not be asked in this turn."""
        return [one for one in planned if self.situation.may_ask or not asks_model(one)]

    def after(self, rest: Sequence[Strategy], error: CondenseError) -> list[Strategy]:
        """Return the rungs that are left: none after a veto, none that asks again after a call.

        Where none is, the ledger stands for a summary that was rejected.
        """
        if isinstance(error, Vetoed) or self.situation.chosen:
            return []
        left = [one for one in rest if not (error.calls and asks_model(one))]
        if left or not isinstance(error, SummaryRejected):
            return left
        return [s for s in self.strategies if s.kind == "condensed" and not asks_model(s)]

    def is_enough(self, reduction: Reduction) -> bool:
        """Whether the history got a tenth smaller, and a request that was too large need not be."""
        has_room = not self.situation.budget.exceeds(reduction.tokens_after.value)
        progress = self._share_left(reduction) <= 1 - self.policy.least_progress
        return progress and (has_room or not self.situation.is_over)

    def check(self, reduction: Reduction) -> None:
        """Raise DidNotShrink unless the history got a tenth smaller, and can be sent.

        A truncation need not take a tenth where the rest can be sent then: nothing comes after it.
        Nor need what a person chose; a summary that is written again may be longer, if it fits.
        Raises CondenseError where a strategy does not carry what is pinned.
        """
        if loses_pins(self.situation, reduction):
            raise CondenseError(LOSES_PINS.format(name=reduction.strategy), cost=reduction.cost)
        before, after = reduction.tokens_before.value, reduction.tokens_after.value
        left = self._share_left(reduction)
        is_last = reduction.kind == "truncated" and not self.situation.fits
        chosen, fits = self.situation.chosen, self.situation.fits
        must_fit = (self.situation.trigger is not Trigger.MANUAL and not fits) or (
            chosen and chosen.originals
        )
        most = self.situation.room if must_fit else math.inf
        any_will_do, may_grow = is_last or chosen, chosen and chosen.originals
        if left >= 1 and not may_grow:
            reason = f"The context would not get smaller: {before:,} → {after:,} tokens"
        elif left > 1 - self.policy.least_progress and not any_will_do:
            reason = f"The context would hardly get smaller: {before:,} → {after:,} tokens"
        elif after > most:
            reason = f"The context would still be too large: {after:,} tokens, {most:,} allowed"
        elif reduction.kind == "cleared" and self._is_due_at(after):
            reason = f"The context would soon be too large again: {after:,} tokens"
        else:
            return
        raise DidNotShrink(reason, details=reduction.message.text, cost=reduction.cost)

    def _share_left(self, reduction: Reduction) -> float:
        """Return which share of the history's size a reduction leaves."""
        effective = self.situation.effective
        rest = replace_hidden(effective, reduction.hidden, reduction.message)
        return self.gauge.size(rest) / max(1, self.gauge.size(effective))

    def _is_due_at(self, tokens: int) -> bool:
        automatic = self.situation.automatic and self.situation.trigger is Trigger.AUTO
        return self.situation.budget.should_condense(tokens, automatic=automatic)

    def may_be_sent(self) -> bool:
        """Whether the request may go as it is, although nothing made it smaller."""
        return self.situation.fits and self.situation.trigger is Trigger.AUTO

    def floor(self, counter: TokenCounter) -> Floor:
        """Return what stays whatever is condensed; the newest message counts once."""
        effective = self.situation.effective
        return Floor(
            system=counter.count(self.situation.system),
            tools=count_tools(self.situation.tools, counter),
            pinned=counter.count(carried_pins(self.situation, effective[:-1])),
            newest=count_message(effective[-1], counter) if effective else 0,
            limit=max(0, int(self.situation.budget.allowed)),
        )
