"""Leave out or replace the blocks that the Messages API would refuse."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_not
from typing import Any

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
THINKING = ("thinking", "redacted_thinking")

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_SURROGATE = re.compile("[\ud800-\udfff]")


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


def sendable(text: str) -> str:
    """Return text that UTF-8 can carry: half a surrogate pair becomes U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _is_sendable(value: Any) -> bool:
    """Whether a value can go into a request's JSON, which is UTF-8 and knows no NaN."""
    try:
        _JSON.encode(value).encode()
    except ValueError:
        return False
    except (TypeError, RecursionError):
        return True  # for whoever sends it to judge
    return True


def _sendable_json(value: Any) -> Any:
    """Return the value with texts and numbers that can be sent; a model may write others."""
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, Mapping):
        return {sendable(str(key)): _sendable_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [*map(_sendable_json, value)]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def clean(message: Message) -> Message:
    """Return the message without blank text, and with blocks as its role may carry them.

    Standalone reasoning items, unsigned thinking and malformed text go; a message of which
    nothing is left has the content ``()``.
    """
    if isinstance(message.content, str):
        text = sendable(message.content) if message.content.strip() else ()
        return message if text == message.content else message.with_content(text)
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
        return block.text.isascii() and not block.text.isspace() and block.text != ""
    return (
        isinstance(block, ToolUseBlock)
        and isinstance(block.input, dict)
        and _is_sendable(block.input)
    )


def _usable(blocks: Sequence[Block], role: Role) -> Iterator[Block]:
    for block in blocks:
        match block:
            case TextBlock(text):
                if text.strip():
                    yield block if text == sendable(text) else replace(block, text=sendable(text))
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
    input_ = block.input
    if not isinstance(input_, Mapping):
        input_ = {} if input_ is None else {"input": input_}
    if not _is_sendable(input_):
        input_ = _sendable_json(input_)
    return block if input_ is block.input else replace(block, input=input_)


def _clean_result(block: ToolResultBlock) -> ToolResultBlock:
    content = block.content
    if isinstance(content, tuple):
        content = tuple(_usable_in_result(content)) or None
    elif content is not None:
        content = sendable(content)
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
        # Thinking is signed: changed, it would be refused.
        yield OpaqueBlock(data if kind in THINKING or _is_sendable(data) else _sendable_json(data))


def is_thinking(block: Block) -> bool:
    """Whether a block is reasoning, signed for the model and settings that wrote it."""
    return _type(block) in THINKING


def _type(block: Block) -> object:
    return block.data.get("type") if isinstance(block, OpaqueBlock) else None
