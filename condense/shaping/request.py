"""Request: the messages that the Messages API accepts, from an effective history."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from condense.messages import Message, Role, TextBlock
from condense.shaping.blocks import clean, replace_images
from condense.shaping.tool_pairs import repair_tool_pairs
from condense.shaping.weight import MAX_BYTES, lighten

OPENING = "[The conversation continues from here.]"
USER_ONLY: tuple[Role, ...] = ("user",)


def shape_request(
    messages: Sequence[Message],
    *,
    supports_images: bool = True,
    max_bytes: int = MAX_BYTES,
) -> tuple[Message, ...]:
    """Return an effective history as messages that the Messages API accepts.

    The first is the user's, roles alternate, tool calls and results pair up, nothing is empty.
    Above ``max_bytes`` the oldest images and documents are left out. Only an empty history gives
    no messages.
    """
    sent = messages if supports_images else replace_images(messages, nested=True)
    sent = lighten(sent, max_bytes)
    cleaned = [message for message in map(clean, sent) if message.content != ()]
    merged = merge_consecutive(cleaned, ("user", "assistant"), markers=True)
    if messages and (not merged or merged[0].role == "assistant"):
        merged = (Message(role="user", content=OPENING, id="opening"), *merged)
    return _ended(repair_tool_pairs(merged))


def _ended(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages; a reply that comes last may not end in white space."""
    if not messages or messages[-1].role == "user":
        return messages
    last = messages[-1]
    *others, end = last.blocks
    if not isinstance(end, TextBlock) or end.text == end.text.rstrip():
        return messages
    content = (*others, replace(end, text=end.text.rstrip()))
    return (*messages[:-1], last.with_content(content))


def merge_consecutive(
    messages: Sequence[Message], roles: Collection[Role] = USER_ONLY, *, markers: bool = False
) -> tuple[Message, ...]:
    """Return the messages with runs of one of ``roles`` joined into the first of each run.

    A summary starts a run of its own and a truncation marker stands alone, unless ``markers``
    says that they are merged too.
    """
    return tuple(map(_merged, _runs(messages, roles, markers=markers)))


def _runs(
    messages: Sequence[Message], roles: Collection[Role], *, markers: bool
) -> Iterator[list[Message]]:
    """Yield runs of messages to join, one at a time."""
    run: list[Message] = []
    for message in messages:
        if run and not (message.role in roles and _joins(run[-1], message, markers=markers)):
            yield run
            run = []
        run.append(message)
    if run:
        yield run


def _joins(previous: Message, message: Message, *, markers: bool) -> bool:
    if previous.role != message.role:
        return False
    apart = message.is_summary or message.is_marker or previous.is_marker
    return markers or not apart


def _merged(run: list[Message]) -> Message:
    if len(run) == 1:
        return run[0]
    known = [message.tokens for message in run if message.tokens is not None]
    content = tuple(block for message in run for block in message.blocks)
    tokens = sum(known) if len(known) == len(run) else None
    return replace(run[0], content=content, tokens=tokens)
