"""The items of a JSON file and the lines of a JSON Lines file, one by one and in bounded memory."""

import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import ijson

from chatapp.exchange.files import opened
from chatapp.exchange.pieces import Problem, Unusable

# Bytes of unpacked JSON between two messages, and of a line; more is no transcript, or a trap.
MAX_GAP = 64 * 1024 * 1024

# Levels; what lies deeper could be neither stored nor sent.
MAX_DEPTH = 200

# Where the messages are, told by how the file begins.
_PREFIXES = {"start_array": "item", "start_map": "messages.item"}

Item = tuple[int, Any]
# Where it stands, what it is, and its value.
Part = tuple[str, str, Any]


def read_items(path: Path, beside: dict[str, Any] | None = None) -> Iterator[Item | Problem]:
    """Yield the items of a list, or of an object's list of ``messages``, each with its number.

    What the object has ``beside`` them under the keys of this is there at the end. At a break in
    the file stands a Problem. Raises OSError when the file can't be opened.
    """
    with opened(path) as file:
        yield from _read(BoundedFile(file), {} if beside is None else beside)


def _read(file: "BoundedFile", beside: dict[str, Any]) -> Iterator[Item | Problem]:
    index = 0
    try:
        for index, item in enumerate(_parse(file, beside), start=1):
            file.since_item = 0
            yield index, item
    except Unusable as error:
        yield Problem(index + 1, str(error))
    except ijson.JSONError as error:
        yield Problem(index + 1, f"The file is not JSON from here on{_words_of(error)}.")
    except (EOFError, OSError, zlib.error):
        yield Problem(index + 1, "The compressed file is damaged or cut off from here on.")
    else:
        if not index:
            yield Problem(1, "The file holds no messages.")


def _parse(file: "BoundedFile", beside: dict[str, Any]) -> Iterator[Any]:
    basic = limit_depth(ijson.basic_parse(file, use_float=True))
    parsed = _noting(ijson.parse(basic), beside)
    first = next(parsed)
    prefix = _PREFIXES.get(first[1])
    if prefix is None:
        raise Unusable("The file is neither a list of messages nor an object that holds one.")
    yield from ijson.items(itertools.chain([first], parsed), prefix)


def _noting(parts: Iterable[Part], beside: dict[str, Any]) -> Iterator[Part]:
    """Pass the parts on, and note what they say under the keys that are asked for."""
    built = {name: ijson.ObjectBuilder() for name in beside}
    for prefix, event, value in parts:
        name = prefix.partition(".")[0]
        if name in built:
            built[name].event(event, value)
            beside[name] = getattr(built[name], "value", None)
        yield prefix, event, value


def limit_depth(parts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Pass the parts on; the parser's time grows with the square of the depth."""
    depth = 0
    for part in parts:
        if part[0].startswith("start_"):
            depth += 1
        elif part[0].startswith("end_"):
            depth -= 1
        if depth > MAX_DEPTH:
            raise Unusable(f"The file is nested more than {MAX_DEPTH} levels deep.")
        yield part


class BoundedFile:
    """A file that refuses to unpack without end while no message comes out of it."""

    def __init__(self, file: BinaryIO, most: int = 0) -> None:
        """Begin at its beginning."""
        self._file = file
        self._most = most or MAX_GAP
        self.since_item = 0

    def read(self, size: int = -1) -> bytes:
        """Return what comes next."""
        data = self._file.read(size)
        self.since_item += len(data)
        if self.since_item > self._most:
            raise Unusable(f"The file goes on for {self._most >> 20} MB without another message.")
        return data


def _words_of(error: ijson.JSONError) -> str:
    """Return the parser's reason without the piece of the file that it quotes."""
    match = re.search(r"error: ([a-zA-Z0-9 (),-]+)", str(error))
    return f" ({match[1].strip()})" if match else ""


def read_lines(path: Path) -> Iterator[Item | Problem]:
    """Yield the objects of a JSON Lines file, each with its number; a Problem for other lines."""
    number = 0
    try:
        with opened(path) as file:
            while line := file.readline(MAX_GAP + 1):
                number += 1
                if len(line) > MAX_GAP:
                    yield Problem(number, f"The line is longer than {MAX_GAP >> 20} MB.")
                    return
                if line.strip():
                    yield _read_line(number, line)
    except (EOFError, OSError, zlib.error):
        yield Problem(number + 1, "The compressed file is damaged or cut off from here on.")


def _read_line(number: int, line: bytes) -> Item | Problem:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return Problem(number, "The line is no JSON.")
    if not isinstance(value, dict):
        return Problem(number, "The line is no JSON object.")
    return number, value
