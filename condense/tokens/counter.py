"""Counting: what every token counter offers, the sums of its counts, and a memory for them."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self

from condense.messages import Content, Message, content_to_api


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


class CachedCounter:
    """Remembers the counts of the ``size`` contents another counter counted last.

    Each of them takes about a hundred bytes.
    """

    def __init__(self, counter: TokenCounter, size: int = 65_536) -> None:
        self._counter = counter
        self._size = size
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, content: Content) -> int:
        """Return the wrapped counter's count, from memory where it is known."""
        text = json.dumps(content_to_api(content), default=repr)
        key = hashlib.blake2b(text.encode(), digest_size=16).digest()
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        tokens = self._counter.count(content)
        with self._lock:
            self._known[key] = tokens
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        return tokens


def count_message(message: Message, counter: TokenCounter) -> int:
    """Return the message's own token count where it is known, else count its content."""
    return counter.count(message.content) if message.tokens is None else message.tokens


def count_messages(messages: Iterable[Message], counter: TokenCounter) -> int:
    """Return the tokens of some messages together."""
    return sum(count_message(message, counter) for message in messages)


def compact(value: object) -> str:
    """Return a value as the JSON in which a model reads it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
