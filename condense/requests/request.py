"""Weight: the bytes of a request, which images fill with few tokens, under a provider's limit."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from condense.messages import (
    Block,
    Content,
    ImageBlock,
    Message,
    OpaqueBlock,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    content_to_api,
)
from condense.requests.content_blocks import clean, replace_images
from condense.requests.tool_pairs import repair_tool_pairs

# The Messages API takes 32 MB; the rest is room for system prompt, tools and what a proxy adds.
MAX_BYTES = 30_000_000
LEFT_OUT = "[{kind} left out here: with it, the request would be too large]"


def lighten(messages: Sequence[Message], max_bytes: int = MAX_BYTES) -> tuple[Message, ...]:
    """Return the messages with text for as many of the oldest images and documents as must go."""
    excess = _excess(messages, max_bytes)
    lighter: list[Message] = []
    for message in messages:
        weight = _weight(message.content) if excess > 0 else 0
        if weight:
            content, excess = _lightened(message.content, excess)
            message = message.with_content(content)  # noqa: PLW2901 - the same message, lighter
        lighter.append(message)
    return tuple(lighter)


def _excess(messages: Sequence[Message], max_bytes: int) -> int:
    """Return by how many bytes the messages are too large; text alone never fills half of it."""
    if sum(_weight(message.content) for message in messages) <= max_bytes / 2:
        return 0
    contents = (content_to_api(message.content) for message in messages)
    texts = (json.dumps(content, ensure_ascii=False, default=repr) for content in contents)
    return sum(len(text.encode(errors="surrogatepass")) for text in texts) - max_bytes


def _lightened(content: Content, excess: int) -> tuple[Content, int]:
    """Return the content without its first images and documents, and what is still too much."""
    blocks: list[Block] = []
    for block in content if isinstance(content, tuple) else ():
        weight = _block_weight(block) if excess > 0 else 0
        if not weight:
            blocks.append(block)
        elif isinstance(block, ToolResultBlock):
            within, excess = _lightened(block.content or (), excess)
            blocks.append(replace(block, content=within))
        else:
            kind = str(block.to_api()["type"]).capitalize()
            text = LEFT_OUT.format(kind=kind)
            blocks.append(TextBlock(text))
            excess -= weight - len(text)
    return tuple(blocks), excess


def _weight(content: Content) -> int:
    """Return the bytes of a content's images and documents."""
    return 0 if isinstance(content, str) else sum(map(_block_weight, content))


def _block_weight(block: Block) -> int:
    if isinstance(block, TextBlock | ToolUseBlock):
        return 0
    match block:
        case ImageBlock({"data": str(data)}) | OpaqueBlock({"source": {"data": str(data)}}):
            return len(data)
        case ToolResultBlock(_, tuple(content)):
            return _weight(content)
    return 0


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
