"""Transcript files in the Messages API's format, read message by message in bounded memory.

A file is a JSON list of messages or an object with such a list as ``messages``, gzipped or not.
"""

import itertools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import ijson

from chatapp.exchange import Piece, Problem
from chatapp.exchange.files import opened

# Bytes of unpacked JSON between two messages; more is no transcript, or a trap.
MAX_GAP = 64 * 1024 * 1024

# Levels; what lies deeper could be neither stored nor sent.
MAX_DEPTH = 200

# Where the messages are, told by how the file begins.
_PREFIXES = {"start_array": "item", "start_map": "messages.item"}


class _Unusable(Exception):
    """The text says what is wrong with an item or with the file."""


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield the file's messages in order, and a Problem for each item that can't be used.

    What comes before a break in the file is kept. Raises OSError when it can't be opened.
    """
    with opened(path) as file:
        yield from _read_file(_BoundedFile(file))


def _read_file(file: "_BoundedFile") -> Iterator[Piece]:
    index = 0
    try:
        for index, item in enumerate(_parse(file), start=1):
            file.since_item = 0
            yield from _check_item(index, item)
    except _Unusable as error:
        yield Problem(index + 1, str(error))
    except ijson.JSONError as error:
        yield Problem(index + 1, f"The file is not JSON from here on{_words_of(error)}.")
    except (EOFError, OSError, zlib.error):
        yield Problem(index + 1, "The compressed file is damaged or cut off from here on.")
    else:
        if not index:
            yield Problem(1, "The file holds no messages.")


def _parse(file: "_BoundedFile") -> Iterator[Any]:
    parsed = ijson.parse(_limit_depth(ijson.basic_parse(file, use_float=True)))
    first = next(parsed)
    prefix = _PREFIXES.get(first[1])
    if prefix is None:
        raise _Unusable("The file is neither a list of messages nor an object that holds one.")
    yield from ijson.items(itertools.chain([first], parsed), prefix)


def _limit_depth(parts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Pass the parts on; the parser's time grows with the square of the depth."""
    depth = 0
    for part in parts:
        if part[0].startswith("start_"):
            depth += 1
        elif part[0].startswith("end_"):
            depth -= 1
        if depth > MAX_DEPTH:
            raise _Unusable(f"The file is nested more than {MAX_DEPTH} levels deep.")
        yield part


class _BoundedFile:
    """A file that refuses to unpack without end while no message comes out of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.since_item = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.since_item += len(data)
        if self.since_item > MAX_GAP:
            raise _Unusable(f"The file goes on for {MAX_GAP >> 20} MB without another message.")
        return data


def _words_of(error: ijson.JSONError) -> str:
    """Return the parser's reason without the piece of the file that it quotes."""
    match = re.search(r"error: ([a-zA-Z0-9 (),-]+)", str(error))
    return f" ({match[1].strip()})" if match else ""


def _check_item(index: int, item: Any) -> Iterator[Piece]:
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
    return block


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
