"""Put all the rules of the Messages API together, on exactly what is sent."""

from collections.abc import Sequence
from dataclasses import replace

from condense.messages import Message, TextBlock
from condense.shaping.cleaning import clean, replace_images
from condense.shaping.merging import merge_consecutive
from condense.shaping.pairing import repair_tool_pairs
from condense.shaping.weight import MAX_BYTES, lighten

OPENING = "[The conversation continues from here.]"


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
