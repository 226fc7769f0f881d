"""How a whole history would have been condensed so far, with no model asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from condense.condenser import Condenser
from condense.errors import CondenseError
from condense.history import replace_hidden
from condense.messages import Message
from condense.situation import Situation, Trigger
from condense.tokens import TokenCount, TokenCounter, count_messages
from condense.usage import Usage

# Where as many runs in a row make nothing smaller, the next ones will not either.
MOST_IN_VAIN = 3


@dataclass(slots=True)
class Followed:
    """What came of it: how often it condensed, and what the model would have read.

    Of each of the ``requests``, ``cache_read`` is what it began with that had been sent before.
    """

    condensations: int = 0
    requests: list[Usage] = field(default_factory=list)

    @property
    def largest(self) -> int:
        """The tokens of the largest request."""
        return max((one.prompt for one in self.requests), default=0)

    @property
    def tokens_read(self) -> int:
        """The tokens of all requests together."""
        return sum(one.prompt for one in self.requests)


async def follow(
    messages: Sequence[Message], condenser: Condenser, start: Situation, counter: TokenCounter
) -> Followed:
    """Return what becomes of messages, as they were written, where ``start`` has all but them.

    Before each reply a request is sent, and the context condensed where its budget says so.
    """
    found, seen, in_vain = Followed(), list[Message](), 0
    fixed = tokens = start.fixed_tokens(counter)
    known = 0
    for message in messages:
        if message.role == "assistant":
            if in_vain < MOST_IN_VAIN and start.budget.should_condense(tokens, automatic=True):
                shown = await _condensed(seen, tokens, condenser, start)
                in_vain = in_vain + 1 if shown is None else 0
                if shown is not None:
                    seen, known = [*shown], fixed
                    tokens = fixed + count_messages(seen, counter)
                    found.condensations += 1
            found.requests.append(Usage(input=tokens - known, cache_read=known))
            known = tokens
        seen.append(message)
        tokens += count_messages((message,), counter)
    return found


async def _condensed(
    seen: Sequence[Message], tokens: int, condenser: Condenser, start: Situation
) -> Sequence[Message] | None:
    """Return what the model sees after a condensation, None where none was made."""
    effective, size = tuple(seen), TokenCount(tokens)
    situation = replace(start, effective=effective, tokens=size, trigger=Trigger.AUTO)
    try:
        reduction = await condenser.fit(situation)
    except CondenseError:
        return None
    if reduction is None:
        return None
    made = replace(reduction.message, seq=seen[-1].seq)
    return replace_hidden(effective, reduction.hidden, made)
