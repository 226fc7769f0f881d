"""Whether a context is to be made smaller now: the trigger decision."""

from collections.abc import Sequence
from dataclasses import dataclass

from condense.errors import NothingToCondense
from condense.history.boundaries import unread_tail
from condense.messages import Message
from condense.situation.gauge import Gauge
from condense.situation.policy import Policy
from condense.situation.situation import Situation, Trigger

# Roo Code's English sentences, known to its users.
NOT_ENOUGH = "Not enough messages to condense context"
RECENTLY = "Context was condensed recently; skipping this attempt"


@dataclass(frozen=True, slots=True)
class Decision:
    """Decides for one situation; ``policy`` has the distances, ``gauge`` the sizes."""

    situation: Situation
    policy: Policy
    gauge: Gauge

    @property
    def is_due(self) -> bool:
        """Whether anything is to be done: by request, by refusal, or as the budget says."""
        situation = self.situation
        if situation.trigger is Trigger.MANUAL or situation.is_over:
            return True
        tokens, automatic = situation.tokens.value, situation.automatic and situation.may_ask
        due = situation.budget.should_condense(tokens, automatic=automatic)
        return due and self.has_come_far and self.has_news

    @property
    def is_by_threshold(self) -> bool:
        """Whether nothing but the threshold decides: nobody asked, it fits, and it may be done."""
        situation = self.situation
        asked = situation.trigger is not Trigger.AUTO or situation.is_over
        return situation.automatic and situation.may_ask and not asked

    @property
    def has_come_far(self) -> bool:
        """Whether enough has come since the last condensation to try another one unasked."""
        new = self._new_messages()
        if new is None:
            return True
        tokens = self.gauge.size(new) * self.gauge.scale
        least = self.policy.distance_share * self.situation.budget.window
        return len(new) >= self.policy.distance_messages and tokens >= least

    @property
    def has_news(self) -> bool:
        """Whether a summary would say anything new, so that no attempt is made on every request."""
        effective = self.situation.effective
        try:
            require_enough(effective, effective[: unread_tail(effective)])
        except NothingToCondense:
            return False
        return True

    def _new_messages(self) -> Sequence[Message] | None:
        """Return what was written since the last try, None where there was none."""
        effective, since = self.situation.effective, self.situation.condensed_at
        made = [i for i, one in enumerate(effective) if one.is_summary or one.tags.clear_id]
        if not made and not since:
            return None
        since = max(since, *(effective[index].seq for index in made), 0)
        # A history that was never stored has no numbers: there, what follows is what is new.
        new = [m for m in effective if m.seq > since] if since else effective[made[-1] + 1 :]
        return [m for m in new if not (m.is_summary or m.is_marker)]


def require_enough(effective: Sequence[Message], hidden: Sequence[Message]) -> None:
    """Raise NothingToCondense where a summary of ``hidden`` would say nothing new.

    After a condensation at least two more messages are needed, as in Roo Code.
    """
    condensed = any(message.is_summary for message in effective)
    too_few = len(effective) < (3 if condensed else 2)
    if too_few or all(message.is_summary or message.is_marker for message in hidden):
        raise NothingToCondense(RECENTLY if condensed else NOT_ENOUGH)
