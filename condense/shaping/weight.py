"""Weight: the bytes of a request, which images fill with few tokens, under a provider's limit."""

import json
from collections.abc import Sequence
from dataclasses import replace

from condense.messages import (
    Block,
    Content,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    content_to_api,
)

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
