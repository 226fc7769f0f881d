"""The one shape every strategy has, what it may work with, and how it measures."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from condense.errors import NothingToCondense
from condense.messages import Message
from condense.situation import Reduction, Situation, Trigger, replace_hidden
from condense.summarizer import Summarizer
from condense.tokens import TokenCount, TokenCounter, count_message

# Roo Code's English sentences, known to its users.
NOT_ENOUGH = "Not enough messages to condense context"
RECENTLY = "Context was condensed recently; skipping this attempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What the condenser hands to a strategy: the model, the counter, ids, and an ear.

    ``new_id`` returns a fresh id at each call; ``on_text`` hears the summary as it is written.
    """

    summarizer: Summarizer
    counter: TokenCounter
    new_id: Callable[[], str]
    on_text: Callable[[str], Awaitable[None]]


class Strategy(Protocol):
    """One way to make the context smaller; configured by its constructor, used once per try."""

    @property
    def name(self) -> str:
        """The name in the registry and on record."""
        ...

    @property
    def kind(self) -> Literal["condensed", "truncated"]:
        """Whether a model is called to summarise, or messages are only hidden."""
        ...

    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction that will be sent to the model, empty where none is called."""
        ...

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a reduction, or raise a CondenseError; change nothing either way."""
        ...


def require_enough(effective: Sequence[Message], hidden: Sequence[Message]) -> None:
    """Raise NothingToCondense where a summary of ``hidden`` would say nothing new.

    After a condensation at least two more messages are needed, as in Roo Code.
    """
    condensed = any(message.is_summary for message in effective)
    too_few = len(effective) < (3 if condensed else 2)
    if too_few or all(message.is_summary or message.is_truncation_marker for message in hidden):
        raise NothingToCondense(RECENTLY if condensed else NOT_ENOUGH)


class Gauge:
    """Measures one situation and what may become of it, all in the same unit.

    Histories are always estimated with the counter. ``scale`` converts those estimates to the
    unit of the situation's own number, which the provider may have measured.
    """

    def __init__(self, situation: Situation, counter: TokenCounter) -> None:
        """Estimate the situation as it is."""
        self._situation = situation
        self._counter = counter
        self.fixed = situation.fixed_tokens(counter)
        self.before = self.fixed + self.size(situation.effective)
        known = situation.tokens.value
        self.scale = known / self.before if known and self.before else 1.0

    def size(self, messages: Iterable[Message]) -> int:
        """Return the estimated tokens of some messages."""
        return sum(count_message(message, self._counter) for message in messages)

    @property
    def limit(self) -> float:
        """The estimated tokens that the whole request should hold at most."""
        budget, scale = self._situation.budget, self.scale
        if self._situation.trigger is Trigger.FORCED and self.before:
            # It was refused, so it holds at least what the window leaves beside the reply.
            scale = max(scale, (budget.window - budget.reserved) / self.before)
        return budget.allowed / scale

    def compare(self, hidden: Sequence[str], message: Message) -> tuple[TokenCount, TokenCount]:
        """Return the size of the whole request before and after hiding."""
        after = self.fixed + self.size(replace_hidden(self._situation.effective, hidden, message))
        known = self._situation.tokens
        before = known if known.value else TokenCount(self.before)
        return before, TokenCount(round(after * self.scale))
