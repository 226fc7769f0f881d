"""Tool calls and results as plain text, for a model that is given no tools."""

import operator
from collections.abc import Mapping
from typing import Any, overload

from condense.messages import (
    Block,
    Content,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from condense.shaping.json_text import plain


def tool_use_to_text(block: ToolUseBlock | OpaqueBlock) -> str:
    """Return ``[Tool Use: name]`` and one ``key: value`` line for each input."""
    data = block.to_api()
    input_ = data.get("input", "undefined")
    if isinstance(input_, list | tuple):
        input_ = {str(index): value for index, value in enumerate(input_)}
    if isinstance(input_, Mapping):
        body = "\n".join(f"{key}: {plain(value)}" for key, value in input_.items())
    else:
        body = plain(input_)
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


@overload
def tools_to_text(source: Message) -> Message: ...
@overload
def tools_to_text(source: Content) -> Content: ...
def tools_to_text(source: Message | Content) -> Message | Content:
    """Return a message or content with each tool block as a text block, all else unchanged."""
    if isinstance(source, str):
        return source
    if not isinstance(source, Message):
        return tuple(map(_as_text, source))
    content = tools_to_text(source.content)
    return source if _same(content, source.content) else source.with_content(content)


def _same(one: Content, other: Content) -> bool:
    """Whether nothing was replaced; faster than comparing what the blocks say."""
    return one is other or all(map(operator.is_, one, other))


def _as_text(block: Block) -> Block:
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
    """Return a result that answers no call as ``Tool result:`` text, its images beside it."""
    if block.content is None or isinstance(block.content, str):
        return (TextBlock(f"Tool result:\n{block.content or ''}"),)
    images = tuple(item for item in block.content if isinstance(item, ImageBlock))
    texts = (
        _item_text(item.to_api()) for item in block.content if not isinstance(item, ImageBlock)
    )
    return (TextBlock("Tool result:\n" + "\n".join(texts)), *images)
