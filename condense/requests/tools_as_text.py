"""Tool calls and results as plain text, for a model that is given no tools.

Their JSON is written as JavaScript writes it: the same for every client, without ASCII escapes.
"""

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from operator import is_not
from typing import Any

from condense.messages import (
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)

# From these on, JavaScript writes exponents: 1e21, and below 1e-6.
MOST, LEAST = 10**21, 1e-6


def tool_use_to_text(block: ToolUseBlock | OpaqueBlock) -> str:
    """Return ``[Tool Use: name]`` and one ``key: value`` line for each input."""
    data = block.to_api()
    input_ = data.get("input", "undefined")
    if isinstance(input_, list | tuple):
        input_ = {str(index): value for index, value in enumerate(input_)}
    if isinstance(input_, Mapping):
        body = "\n".join([f"{key}: {_plain(value)}" for key, value in input_.items()])
    else:
        body = _plain(input_)
    return f"[Tool Use: {data.get('name', 'undefined')}]\n{body}"


def tool_result_to_text(block: ToolResultBlock | OpaqueBlock) -> str:
    """Return ``[Tool Result]`` or ``[Tool Result (Error)]`` and the result's text."""
    data = block.to_api()
    header = "[Tool Result (Error)]" if data.get("is_error") else "[Tool Result]"
    match data.get("content"):
        case str(text):
            return f"{header}\n{text}"
        case list(items):
            return f"{header}\n" + "\n".join(map(_item_text, items))
        case _:
            return header


def _item_text(item: Any) -> str:
    match item.get("type", "undefined") if isinstance(item, Mapping) else "undefined":
        case "text":
            return item.get("text") or ""
        case "image":
            return "[Image]"
        case other:
            return f"[{other}]"


def tools_to_text(message: Message) -> Message:
    """Return a message with each tool block as a text block, all else unchanged."""
    if isinstance(message.content, str):
        return message
    content = tuple(map(tool_to_text, message.content))
    # Faster than comparing the contents of the blocks.
    return message.with_content(content) if any(map(is_not, content, message.content)) else message


def tool_to_text(block: Block) -> Block:
    """Return a call or a result as a text block, any other block as it is."""
    if isinstance(block, TextBlock):
        return block
    match block:
        case ToolUseBlock() | OpaqueBlock({"type": "tool_use"}):
            return TextBlock(tool_use_to_text(block))
        case ToolResultBlock() | OpaqueBlock({"type": "tool_result"}):
            return TextBlock(tool_result_to_text(block))
        case _:
            return block


def orphan_to_blocks(block: ToolResultBlock) -> tuple[Block, ...]:
    """Return a result that answers no call as ``Tool result:`` text, followed by its images."""
    if block.content is None or isinstance(block.content, str):
        return (TextBlock(f"Tool result:\n{block.content or ''}"),)
    images = tuple([item for item in block.content if isinstance(item, ImageBlock)])
    texts = [
        _item_text(item.to_api()) for item in block.content if not isinstance(item, ImageBlock)
    ]
    return (TextBlock("Tool result:\n" + "\n".join(texts)), *images)


def _plain(value: Any) -> str:
    """Return a scalar bare (text raw, ``null``, ``true``) and a list or object pretty-printed."""
    if isinstance(value, str):
        return value
    return _write(value, "\n") if isinstance(value, Mapping | list | tuple) else _number(value)


def _write(value: Any, newline: str) -> str:
    if isinstance(value, str):
        return _quote(value)
    inner = newline + "  "
    if isinstance(value, Mapping):
        marks = "{}"
        items = [f"{_quote(str(key))}: {_write(item, inner)}" for key, item in value.items()]
    elif isinstance(value, list | tuple):
        marks, items = "[]", [_write(item, inner) for item in value]
    else:
        return "null" if isinstance(value, float) and not math.isfinite(value) else _number(value)
    return f"{marks[0]}{inner}{f',{inner}'.join(items)}{newline}{marks[1]}" if items else marks


def _quote(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    # Half a surrogate pair as JavaScript writes it.
    return quoted.encode(errors="backslashreplace").decode()


def _number(value: Any) -> str:
    """Return null, a boolean or a number; numbers in the shortest form JavaScript gives."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if not isinstance(value, float) and not (isinstance(value, int) and abs(value) >= MOST):
        return str(value)
    number = float(str(value))  # an integer too large for a float becomes infinite
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else f"{'-' if number < 0 else ''}Infinity"
    if number == 0:
        return "0"
    if LEAST <= abs(number) < MOST:
        return format(Decimal(repr(number)), "f").removesuffix(".0")
    mantissa, _, exponent = repr(number).partition("e")
    return f"{mantissa}e{int(exponent):+d}"
