"""How large a situation is, and what may become of it."""

from collections.abc import Iterable, Sequence

from condense.history import replace_hidden
from condense.messages import Content, Message
from condense.situation.situation import Situation, Trigger
from condense.tokens import TokenCount, TokenCounter, count_messages


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
