"""Blocks: those that the Messages API would refuse are left out or replaced."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_not

from condense.history.signed_blocks import THINKING, is_thinking, without_thinking
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
)

IMAGE_TEXT = "[Referenced image in conversation]"
EMPTY_ERROR = "The tool failed without a message."


def replace_images(
    messages: Sequence[Message], *, nested: bool = False, text: str = IMAGE_TEXT
) -> tuple[Message, ...]:
    """Return the messages with ``text`` for each image; ``nested`` includes tool results."""
    return tuple(_without_images(message, text, nested=nested) for message in messages)


def _without_images(message: Message, text: str, *, nested: bool) -> Message:
    content = _placeholders(message.content, text, nested=nested)
    return message if content is message.content else message.with_content(content)


def _placeholders(content: Content, text: str, *, nested: bool) -> Content:
    if isinstance(content, str):
        return content
    blocks = [_placeholder(block, text, nested=nested) for block in content]
    return tuple(blocks) if any(map(is_not, blocks, content)) else content


def _placeholder(block: Block, text: str, *, nested: bool) -> Block:
    if isinstance(block, TextBlock | ToolUseBlock):
        return block
    if isinstance(block, ImageBlock) or _type(block) == "image":
        return TextBlock(text)
    if nested and isinstance(block, ToolResultBlock) and block.content:
        content = _placeholders(block.content, text, nested=True)
        return block if content is block.content else replace(block, content=content)
    return block


def clean(message: Message) -> Message:
    """Return the message without blank text, and with blocks as its role may carry them.

    Standalone reasoning items, unsigned or unbound thinking and malformed text go; a message of
    which nothing is left has the content ``()``.
    """
    if message.tags.unbound:
        message = without_thinking(message)
    if isinstance(message.content, str):
        return message if message.content.strip() else message.with_content(())
    if all(map(_is_clean, message.content)):
        return message
    blocks = tuple(_usable(message.content, message.role))
    if message.role == "assistant":
        while blocks and is_thinking(blocks[-1]):
            blocks = blocks[:-1]
    return message if blocks == message.content else message.with_content(blocks)


def _is_clean(block: Block) -> bool:
    """Whether a block needs no further look, as most do: plain text, or a proper call."""
    if isinstance(block, TextBlock):
        return block.text != "" and not block.text.isspace()
    return isinstance(block, ToolUseBlock) and isinstance(block.input, dict)


def _usable(blocks: Sequence[Block], role: Role) -> Iterator[Block]:
    for block in blocks:
        match block:
            case TextBlock(text):
                if text.strip():
                    yield block
            case ImageBlock() if role == "assistant":
                yield TextBlock(IMAGE_TEXT)
            case ToolUseBlock():
                yield _with_object_input(block)
            case ToolResultBlock():
                yield _clean_result(block)
            case OpaqueBlock(data):
                yield from _opaque(data, role)
            case _:
                yield block


def _with_object_input(block: ToolUseBlock) -> ToolUseBlock:
    if isinstance(block.input, Mapping):
        return block
    return replace(block, input={} if block.input is None else {"input": block.input})


def _clean_result(block: ToolResultBlock) -> ToolResultBlock:
    content = block.content
    if isinstance(content, tuple):
        content = tuple(_usable_in_result(content)) or None
    if block.is_error and not (content.strip() if isinstance(content, str) else content):
        content = EMPTY_ERROR
    return block if content == block.content else replace(block, content=content)


def _usable_in_result(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in _usable(blocks, "user"):
        if isinstance(block, ToolUseBlock | ToolResultBlock) or _type(block) in _TOOLS:
            yield TextBlock(f"[{block.to_api()['type']}]")
        else:
            yield block


_TOOLS = ("tool_use", "tool_result")


def _opaque(data: Mapping[str, object], role: Role) -> Iterator[Block]:
    kind = data.get("type")
    signed = kind != "thinking" or data.get("signature")
    if kind in THINKING and (role != "assistant" or not signed):
        return
    if kind == "image":
        yield TextBlock(IMAGE_TEXT)
    elif isinstance(kind, str) and kind not in {"text", "reasoning"}:
        yield OpaqueBlock(data)


def _type(block: Block) -> object:
    return block.data.get("type") if isinstance(block, OpaqueBlock) else None
