"""Cut a long history into parts that a model can read one by one."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from condense.history.boundaries import safe_cuts
from condense.messages import Message, TextBlock
from condense.tokens import TokenCounter, count_messages

Flatten = Callable[[Sequence[Message]], tuple[Message, ...]]
Part = tuple[Message, ...]
Piece = tuple[Part, int]


def split_history(
    history: Sequence[Message], limit: int, flatten: Flatten, counter: TokenCounter
) -> tuple[Part, ...]:
    """Return the history as flat messages in parts of at most ``limit`` tokens, at safe cuts.

    Only a tool call and result that exceed the limit together are parted, and at last a text.
    """
    return _packed(_pieces(history, limit, flatten, counter), limit)


def split_texts(texts: Iterable[str], limit: int, counter: TokenCounter) -> tuple[Part, ...]:
    """Return texts as messages in parts of at most ``limit`` tokens."""
    messages = (Message(role="user", content=text) for text in texts)
    pieces = (piece for message in messages for piece in _portions(message, limit, counter))
    return _packed(pieces, limit)


def _packed(pieces: Iterable[Piece], limit: int) -> tuple[Part, ...]:
    parts: list[list[Message]] = []
    room = 0
    for messages, tokens in pieces:
        if not parts or tokens > room:
            parts.append([])
            room = limit
        parts[-1].extend(messages)
        room -= tokens
    return tuple(map(tuple, parts))


def _pieces(
    history: Sequence[Message], limit: int, flatten: Flatten, counter: TokenCounter
) -> Iterator[Piece]:
    for start, end in pairwise(safe_cuts(history)):
        group = history[start:end]
        tokens = count_messages(group, counter)
        flat = flatten(group)
        if tokens <= limit:
            yield flat, tokens
            continue
        for message in flat:
            yield from _portions(message, limit, counter)


def _portions(message: Message, limit: int, counter: TokenCounter) -> Iterator[Piece]:
    """Yield the message, its text cut as often as needed; what is no text stays in one piece."""
    tokens = counter.count(message.content)
    text = message.text
    if tokens <= limit or len(text) < 2:  # noqa: PLR2004 - a single character cannot be cut
        yield (message,), tokens
        return
    step = math.ceil(len(text) / math.ceil(tokens / limit))
    step = min(step, len(text) - 1)
    for start in range(0, len(text), step):
        part = message.with_content(text[start : start + step])
        yield from _portions(part, limit, counter)
    others = tuple(block for block in message.blocks if not isinstance(block, TextBlock))
    if others:
        yield (message.with_content(others),), counter.count(others)
