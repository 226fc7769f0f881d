"""What counts tokens, and what its counts add up to."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self

from condense.messages import Content, Message


class TokenCounter(Protocol):
    """Anything that counts tokens; synchronous, and safe to call from several threads."""

    def count(self, content: Content) -> int:
        """Return how many tokens the content takes."""
        ...


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens, and whether a provider measured it or the engine estimated it."""

    value: int
    measured: bool = False

    def __add__(self, other: Self) -> "TokenCount":
        """Return the sum, measured only where both parts are."""
        return TokenCount(self.value + other.value, self.measured and other.measured)


def count_message(message: Message, counter: TokenCounter) -> int:
    """Return the message's own token count where it is known, else count its content."""
    return counter.count(message.content) if message.tokens is None else message.tokens


def count_messages(messages: Iterable[Message], counter: TokenCounter) -> int:
    """Return the tokens of some messages together."""
    return sum(count_message(message, counter) for message in messages)


def compact(value: object) -> str:
    """Return a value as the JSON in which a model reads it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
