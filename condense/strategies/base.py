"""The one shape every strategy has, and what it may work with."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from condense.messages import Message
from condense.situation import Reduction, Situation, replace_hidden
from condense.summarizer import Summarizer
from condense.tokens import TokenCount, TokenCounter, count_message


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

    name: str
    kind: Literal["condensed", "truncated"]

    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction that will be sent to the model, empty where none is called."""
        ...

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a reduction, or raise a CondenseError; change nothing either way."""
        ...


def measure(
    situation: Situation, hidden: Sequence[str], message: Message, counter: TokenCounter
) -> tuple[TokenCount, TokenCount]:
    """Return the size of the whole request before and after hiding, in the same unit.

    Both histories are estimated anew. Where the caller knows the current size better, from the
    provider, both estimates are scaled to it.
    """
    fixed = situation.fixed_tokens(counter)
    after = replace_hidden(situation.effective, hidden, message)
    estimates = [
        fixed + sum(count_message(one, counter) for one in history)
        for history in (situation.effective, after)
    ]
    known = situation.tokens.value
    if not known or not estimates[0]:
        return TokenCount(estimates[0]), TokenCount(estimates[1])
    return situation.tokens, TokenCount(round(estimates[1] * known / estimates[0]))
