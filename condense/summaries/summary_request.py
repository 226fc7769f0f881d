"""Histories as a summary call shows them: without old images, in parts."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise

from condense.history.boundaries import safe_cuts
from condense.messages import ImageBlock, Message, TextBlock
from condense.requests.request import replace_images
from condense.tokens.counters import TokenCounter, count_messages

OLD_IMAGE = "[Image]"

Flatten = Callable[[Sequence[Message]], tuple[Message, ...]]
Part = tuple[Message, ...]
Piece = tuple[Part, int]


def without_old_images(
    hidden: Sequence[Message], effective: Sequence[Message]
) -> tuple[Message, ...]:
    """Return a part of a history without the images before the newest prompt of the whole.

    What they showed stands in the replies, and together they may weigh more than a call can carry.
    Those that came after the last words of a reply stay, also where tools gave them.
    """
    start = next((at for at, one in enumerate(effective) if one.id == hidden[0].id), None)
    # What is hidden already stands before all that is visible.
    seen = (*hidden, *effective) if start is None else effective[start:]
    # Somebody said something in a message that is more than tool results.
    prompts = [
        index
        for index, one in enumerate(seen)
        if one.role == "user"
        and not one.is_marker
        and [True for block in one.blocks if isinstance(block, TextBlock | ImageBlock)]
    ]
    newest = prompts[-1] if prompts else len(seen)
    told = [i for i, one in enumerate(seen) if one.role == "assistant" and one.text.strip()]
    undescribed = told[-1] + 1 if told else 0
    old = min(newest, undescribed)
    return (
        *replace_images(hidden[:old], nested=True, text=OLD_IMAGE),
        *hidden[old:undescribed],
        *map(_with_images_beside, hidden[undescribed:]),
    )


def _with_images_beside(message: Message) -> Message:
    """Return a message with the images of its tool results beside them, where text keeps them."""
    contents = [result.content for result in message.tool_results]
    inside = chain.from_iterable(one for one in contents if isinstance(one, tuple))
    images = tuple([block for block in inside if isinstance(block, ImageBlock)])
    return message.with_content((*message.blocks, *images)) if images else message


def split_history(
    history: Sequence[Message], limit: int, flatten: Flatten, counter: TokenCounter
) -> tuple[Part, ...]:
    """Return the history as flat messages in parts of at most ``limit`` tokens, at safe cuts.

    Only a tool call and result that exceed the limit together are parted, and at last a text.
    """
    pieces: list[Piece] = []
    for start, end in pairwise(safe_cuts(history)):
        group = history[start:end]
        tokens, flat = count_messages(group, counter), flatten(group)
        if tokens <= limit:
            pieces.append((flat, tokens))
        else:
            pieces += chain.from_iterable(_portions(one, limit, counter) for one in flat)
    return _packed(pieces, limit)


def split_texts(texts: Iterable[str], limit: int, counter: TokenCounter) -> tuple[Part, ...]:
    """Return texts as messages in parts of at most ``limit`` tokens."""
    messages = [Message(role="user", content=text) for text in texts]
    pieces = [piece for message in messages for piece in _portions(message, limit, counter)]
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
    others = tuple([block for block in message.blocks if not isinstance(block, TextBlock)])
    if others:
        yield (message.with_content(others),), counter.count(others)
