"""Ladders: the time of a condensation, the order of its rungs, and its least progress."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from condense import errors
from condense.budget.situation import Gauge, Reduction, Situation, Trigger
from condense.history.boundaries import require_enough, unread_tail
from condense.history.effective_history import replace_hidden
from condense.messages import Message
from condense.reduction.carryover import carried_pins, loses_pins
from condense.reduction.chosen_part import ChosenMessages, ChosenResult, FromOriginals
from condense.reduction.strategy import Strategy, asks_model
from condense.sentences import noop
from condense.strategies.fresh_start import FreshStart
from condense.strategies.ledger import LedgerAlone
from condense.strategies.sliding_window import SlidingWindow
from condense.tokens.counters import count_tools

LOSES_PINS = noop("The strategy {name} would lose what is pinned")
NOT_SMALLER = noop("The context would not get smaller: {before:,} → {after:,} tokens")
HARDLY = noop("The context would hardly get smaller: {before:,} → {after:,} tokens")
TOO_LARGE = noop("The context would still be too large: {after:,} tokens, {most:,} allowed")
TOO_LARGE_SOON = noop("The context would soon be too large again: {after:,} tokens")
AUTOMATIC_OFF = noop("Without a summary: automatic condensing is off")
WINDOW_SMALL = noop("Without a summary: the window is too small for one")
# Strategies below a summary by the model: the facts alone, then less of the history.
FALLBACKS = (LedgerAlone.name, SlidingWindow.name)
# Strategies that need a special model, each with one for any model that comes next.
INSTEAD = {"provider": FreshStart.name}
LADDER = (FreshStart.name, *FALLBACKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The numbers for every conversation of a condenser; shares are of one, sizes in tokens."""

    small_window: int = 8_000  # a smaller one is truncated: it has no room for a summary
    least_progress: float = 0.1  # by which each rung must lower the history, as in OpenHands
    # An automatic run asks the model again after so many new messages (as in Roo Code) that take
    # such a share of the window: a floor above the threshold costs no call in every turn.
    distance_messages: int = 2
    distance_share: float = 0.05
    finds_contradictions: bool = False  # another call compares a model's summary with the facts


def new_since(effective: Sequence[Message], tried: int) -> Sequence[Message] | None:
    """Return the messages since the last summary or clearing, and since the ``tried`` seq.

    None if nothing was condensed or tried, as then all of them are new.
    """
    made = [i for i, one in enumerate(effective) if one.is_summary or one.tags.clear_id]
    if not made and not tried:
        return None
    since = max(tried, *(effective[index].seq for index in made), 0)
    # A history that was never stored has no numbers: messages after the last summary are new.
    new = [m for m in effective if m.seq > since] if since else effective[made[-1] + 1 :]
    return [m for m in new if not (m.is_summary or m.is_marker)]


@dataclass(frozen=True, slots=True)
class Ladder:
    """Decides for one situation; ``policy`` has the numbers, ``gauge`` the sizes.

    ``strategies`` are all that the condenser has.
    """

    situation: Situation
    policy: Policy
    gauge: Gauge
    strategies: Sequence[Strategy] = ()

    def is_due(self, answer: bool | None = None) -> bool:
        """Return True if a condensation is due now.

        It always is on request, or if the context is too large. Otherwise the threshold decides, or
        the ``answer`` of a hook in its place; but a condensation is never due while its summary
        would have nothing new.
        """
        situation, reason = self.situation, self.situation.reason
        if reason not in {"threshold", None}:
            return True
        if answer is None:
            answer = (
                reason == "threshold"
                and situation.may_ask
                and self.has_enough_new(situation.undone_at)
            )
        if not answer:
            return False
        effective = situation.effective
        try:
            require_enough(effective, effective[: unread_tail(effective)])
        except errors.NothingToCondense:
            return False
        return True

    def has_enough_new(self, undone_at: int = 0) -> bool:
        """Return True if there are enough new messages and tokens for an automatic condensation."""
        tried = max(self.situation.condensed_at, undone_at)
        new = new_since(self.situation.effective, tried)
        if new is None:
            return True
        tokens = self.gauge.size(new) * self.gauge.scale
        least = self.policy.distance_share * self.situation.budget.window
        return len(new) >= self.policy.distance_messages and tokens >= least

    def rungs(self) -> list[Strategy]:
        """Return the strategies to try, in order.

        A small window is only truncated. A run below the limit and one by hand try the chosen
        strategy and others that ask the model: lossier ones can wait until they are needed, and a
        person can press "Retry". A focus is for a summary to follow, so with one nothing is only
        cleared. A part that a person chose is condensed as it is, or not at all.
        """
        situation, strategies = self.situation, self.strategies
        if chosen := situation.chosen:
            if chosen.originals:
                return [FromOriginals()]
            return [ChosenResult() if chosen.call else ChosenMessages()]
        truncating = [one for one in strategies if one.kind == "truncated"]
        if situation.budget.window < self.policy.small_window:
            return truncating or [SlidingWindow()]
        clearing = [one for one in strategies if one.kind == "cleared" and not situation.focus]
        condensing = [one for one in strategies if one.kind != "cleared"]
        asked = situation.trigger is Trigger.MANUAL
        if not (asked or situation.automatic):
            return [*clearing, *truncating]
        if asked or not situation.is_over:
            return [*clearing, *condensing[:1], *filter(asks_model, condensing[1:])]
        new = situation.trigger is Trigger.FORCED or self.has_enough_new()
        found = [one for one in strategies if not asks_model(one) or (new and situation.may_ask)]
        # If only the model can help, it is asked in each turn.
        return found or [*(strategies if situation.may_ask else ())]

    @property
    def asks_nobody(self) -> str:
        """The reason no rung may ask a model for a summary, "" if one may."""
        situation = self.situation
        if situation.budget.window < self.policy.small_window:
            return WINDOW_SMALL
        asked = situation.automatic or situation.trigger is Trigger.MANUAL
        return "" if asked else AUTOMATIC_OFF

    def after(self, rest: Sequence[Strategy], error: errors.CondenseError) -> list[Strategy]:
        """Return the strategies to try after an error: none after a veto, or for a chosen part.

        Otherwise the ``rest``, without those that ask the model if this attempt did. If none is
        left, the ledger replaces a summary that was rejected.
        """
        if isinstance(error, errors.Vetoed) or self.situation.chosen:
            return []
        left = [one for one in rest if not (error.calls and asks_model(one))]
        if left or not isinstance(error, errors.SummaryRejected):
            return left
        return [s for s in self.strategies if s.kind == "condensed" and not asks_model(s)]

    def is_enough(self, reduction: Reduction) -> bool:
        """Return True if a truncation is large enough: a tenth is gone, and the request fits."""
        has_room = reduction.tokens_after.value <= self.situation.budget.allowed
        progress = self._share_left(reduction) <= 1 - self.policy.least_progress
        return progress and (has_room or not self.situation.is_over)

    def check(self, reduction: Reduction) -> None:
        """Raise DidNotShrink unless the history got a tenth smaller, and can be sent.

        A tenth is not asked of a truncation that makes the request fit, since no rung is below it,
        nor of a part that a person chose; a summary that is written again may even be longer, if it
        fits. Raises CondenseError if the strategy loses pins.
        """
        if loses_pins(self.situation, reduction):
            raise errors.CondenseError(
                LOSES_PINS.format(name=reduction.strategy), cost=reduction.cost
            )
        situation, chosen = self.situation, self.situation.chosen
        before, after = reduction.tokens_before.value, reduction.tokens_after.value
        left, originals = self._share_left(reduction), bool(chosen and chosen.originals)
        any_will_do = chosen or (reduction.kind == "truncated" and not situation.fits)
        must_fit = originals or (situation.trigger is not Trigger.MANUAL and not situation.fits)
        most = situation.room if must_fit else math.inf
        automatic = situation.automatic and situation.trigger is Trigger.AUTO
        if left >= 1 and not originals:
            reason = NOT_SMALLER
        elif left > 1 - self.policy.least_progress and not any_will_do:
            reason = HARDLY
        elif after > most:
            reason = TOO_LARGE
        elif reduction.kind == "cleared" and situation.budget.reason(after, automatic=automatic):
            reason = TOO_LARGE_SOON
        else:
            return
        said = reason.format(before=before, after=after, most=most)
        raise errors.DidNotShrink(said, details=reduction.message.text, cost=reduction.cost)

    def _share_left(self, reduction: Reduction) -> float:
        """Return the share of the history's size that a reduction leaves."""
        effective = self.situation.effective
        rest = replace_hidden(effective, reduction.hidden, reduction.message)
        return self.gauge.size(rest) / max(1, self.gauge.size(effective))

    def floor(self) -> errors.Floor:
        """Return the part that no condensation can hide; the newest message counts once."""
        situation, weigh = self.situation, self.gauge.weigh
        effective = situation.effective
        return errors.Floor(
            system=weigh(situation.system),
            tools=count_tools(situation.tools, self.gauge.counter),
            pinned=weigh(carried_pins(situation, effective[:-1])),
            newest=self.gauge.size(effective[-1:]),
            limit=max(0, int(situation.budget.allowed)),
        )
