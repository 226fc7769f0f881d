"""Decisions: is a context to be made smaller now, by the ladder's numbers and measured sizes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from condense.budget.situation import Situation, Trigger
from condense.errors import NothingToCondense
from condense.history import replace_hidden
from condense.history.boundaries import unread_tail
from condense.messages import Content, Message
from condense.tokens import TokenCount, TokenCounter, count_messages

# Roo Code's English sentences, known to its users.
NOT_ENOUGH = "Not enough messages to condense context"
RECENTLY = "Context was condensed recently; skipping this attempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What holds for every conversation of a condenser; shares are of one, sizes in tokens.

    A window under ``small_window`` has no room for a summary beside the work, so it is truncated.
    Each rung must lower the effective history by ``least_progress`` (OpenHands demands as much).
    An automatic run asks the model again only after ``distance_messages`` new messages (as in Roo
    Code) that take ``distance_share`` of the window, so that a floor above the threshold costs no
    call in every turn.
    """

    small_window: int = 8_000
    least_progress: float = 0.1
    distance_messages: int = 2
    distance_share: float = 0.05


class Gauge:
    """Measures one situation and what may become of it, all in the same unit.

    Histories are always estimated with the counter. ``scale`` converts those estimates to the
    unit of the situation's own number, which the provider may have measured.
    """

    def __init__(self, situation: Situation, counter: TokenCounter) -> None:
        """Estimate the situation as it is."""
        self.situation = situation
        self._counter = counter
        self.fixed = situation.fixed_tokens(counter)
        self.before = self.fixed + self.size(situation.effective)
        known = situation.tokens.value
        self.scale = known / self.before if known and self.before else 1.0

    @property
    def cautious_scale(self) -> float:
        """The scale at which a refused request fills what the reply leaves of the window."""
        if self.situation.trigger is Trigger.FORCED and self.before:
            return max(self.scale, self.situation.budget.capacity / self.before)
        return self.scale

    @property
    def limit(self) -> float:
        """The estimated tokens that the whole request should hold at most."""
        return self.situation.budget.allowed / self.cautious_scale

    def size(self, messages: Iterable[Message]) -> int:
        """Return the estimated tokens of some messages."""
        return count_messages(messages, self._counter)

    def weigh(self, content: Content) -> int:
        """Return the estimated tokens of what is not a message yet."""
        return self._counter.count(content)

    def compare(self, hidden: Sequence[str], message: Message) -> tuple[TokenCount, TokenCount]:
        """Return the size of the whole request before and after hiding."""
        after = self.fixed + self.size(replace_hidden(self.situation.effective, hidden, message))
        known = self.situation.tokens
        before = known if known.value else TokenCount(self.before)
        return before, TokenCount(round(after * self.scale))


@dataclass(frozen=True, slots=True)
class Decision:
    """The one place that says whether a condensation is due; all others ask it.

    ``policy`` has the distances, ``gauge`` the sizes of the situation.
    """

    situation: Situation
    policy: Policy
    gauge: Gauge

    def is_due(self, answer: bool | None = None) -> bool:
        """Whether to try anything now.

        A context that somebody wants smaller, or that is too large, always is. Otherwise the
        threshold decides, or the ``answer`` of a hook in its place.
        """
        reason = self.situation.reason
        if reason not in {"threshold", None}:
            return True
        if answer is not None:
            return answer and self.has_news
        wanted = reason == "threshold" and self.situation.may_ask
        return wanted and self.has_come_far and self.has_news

    @property
    def is_by_threshold(self) -> bool:
        """Whether nothing but the threshold decides: nobody asked, it fits, and it may be done."""
        situation = self.situation
        return situation.automatic and situation.may_ask and situation.reason in {"threshold", None}

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
