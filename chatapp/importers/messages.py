"""Transcript files in the Messages API's format, read message by message in bounded memory.

A file is a JSON list of messages or an object with such a list as ``messages``, gzipped or not.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import condense
from chatapp.exchange import Beside, Piece, Problem
from chatapp.exchange.samples import Sample
from chatapp.exchange.streams import read_items
from chatapp.exchange.talks import parts_of

LABEL = "Anthropic messages"


class _Unusable(Exception):
    """The text says what is wrong with an item."""


def recognise(sample: Sample) -> bool:
    """Whether it may be a list of such messages: what has its own marks is asked first."""
    return any(str(item.get("role")) in {"user", "assistant"} for item in sample.items)


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield the file's messages in order, and a Problem for each item that can't be used.

    What comes before a break in the file is kept. Raises OSError when it can't be opened.
    """
    beside: dict[str, Any] = {"system": None}
    for found in read_items(path, beside):
        if isinstance(found, Problem):
            yield found
        else:
            yield from check_item(*found)
    blocks = parts_of(beside["system"])
    if text := "\n\n".join(one["text"] for one in blocks if one["type"] == "text"):
        yield Beside("conversation", {"system_prompt": text})


def check_item(index: int, item: Any) -> Iterator[Piece]:
    """Yield the message with the blocks that can be used, and a problem for each other one."""
    try:
        message = _check_message(item)
    except _Unusable as error:
        yield Problem(index, str(error))
        return
    if isinstance(message["content"], list):
        kept = []
        for block in message["content"]:
            try:
                kept.append(_check_block(block))
            except _Unusable as error:
                yield Problem(index, str(error))
        message["content"] = kept
    if _is_empty(message["content"]):
        yield Problem(index, "The message has no content that can be used.")
    else:
        yield message


def _check_message(item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise _Unusable(f"A message is a JSON object, not {_name_of(item)}.")
    if "role" not in item and isinstance(item.get("type"), str):
        raise _Unusable(f"An item of type {_quote(item['type'])} stands alone, not in a message.")
    if item.get("role") not in ("user", "assistant"):
        raise _Unusable(f"A role is 'user' or 'assistant', not {_quote(item.get('role'))}.")
    content = item.get("content")
    if content is not None and not isinstance(content, str | list):
        raise _Unusable(f"Content is text or a list of blocks, not {_name_of(content)}.")
    pinned = {"pinned": True} if item.get("pinned") is True else {}
    return {"role": item["role"], "content": content, **pinned}


def _check_block(block: Any) -> dict[str, Any]:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise _Unusable("A content block is a JSON object with a type.")
    is_usable = _SHAPES.get(block["type"])
    if is_usable is not None and not is_usable(block):
        raise _Unusable(f"A {block['type']} block does not have the form the API gives it.")
    # Only what was written here says what stands beside somebody's words.
    return {name: value for name, value in block.items() if name != condense.BESIDE}


def _is_tool_use(block: dict[str, Any]) -> bool:
    return isinstance(block.get("id"), str) and isinstance(block.get("name"), str)


def _is_tool_result(block: dict[str, Any]) -> bool:
    content = block.get("content")
    return (
        isinstance(block.get("tool_use_id"), str)
        and isinstance(content, str | list | None)
        and all(isinstance(part, dict) for part in content or () if not isinstance(content, str))
    )


# What must hold for blocks that the engine reads; other types pass as they are.
_SHAPES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "text": lambda block: isinstance(block.get("text"), str),
    "image": lambda block: isinstance(block.get("source"), dict),
    "tool_use": lambda block: _is_tool_use(block) and "input" in block,
    "tool_result": _is_tool_result,
}


def _is_empty(content: Any) -> bool:
    """Whether nothing is in it: no text but spaces, and no other block."""
    if isinstance(content, list):
        return all(block["type"] == "text" and not block["text"].strip() for block in content)
    return not (content or "").strip()


def _quote(value: Any) -> str:
    """Return a short form of a value that may be anything."""
    return repr(value) if len(repr(value)) <= 40 else _name_of(value)  # noqa: PLR2004 - characters


def _name_of(value: Any) -> str:
    """Return what JSON calls the value's type."""
    names = {"dict": "an object", "list": "a list", "str": "text", "NoneType": "null"}
    name = type(value).__name__
    return names.get(name, "true or false" if name == "bool" else "a number")
