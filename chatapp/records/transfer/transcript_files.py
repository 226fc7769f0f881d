"""Recorded files: packed or not, read item by item in bounded memory, and sampled."""

import codecs
import gzip
import hashlib
import io
import itertools
import json
import re
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import ijson

from chatapp.models.database import go_on
from chatapp.records.transfer import Problem, Unusable
from condense import noop, say

# Unpacked bytes; more is no transcript, or a trap.
LARGEST = 256 << 20  # of a file
MOST_HELD = 128 << 20  # of a file whose messages are all held until its end
MAX_GAP = 64 << 20  # of a line, and between two messages
# The largest item.
MOST_VALUES, BESIDES = 1_000_000, 1_000  # values and names; bytes that it counts besides
MOST_TEXT, LONGEST_TEXT = 64 << 20, 28 << 20  # bytes of all its texts, and of one: an image fits
# Bytes that the parser takes at once. With fewer it copies a long text more often; with more it
# holds up all other threads for longer while it makes their values.
PARSED_AT_ONCE = 256 << 10
# Levels. Deeper contents could be neither stored nor sent, but messages may lie in each other.
MAX_DEPTH, DEEPEST = 200, 20_000
# Items of a sample, and bytes, which the first of them may exceed.
SAMPLED_ITEMS = 60
SAMPLED_BYTES = 1024 * 1024

_GZIP_MAGIC = b"\x1f\x8b"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# The place of the messages in an object.
_PLACE = "messages.item"

Item = tuple[int, Any]
# A file, or one in an archive.
Document = Path | zipfile.Path
NO_JSON = noop("The line is no JSON.")
TOO_LARGE = noop("It has too many parts, or too much text.")
# Errors of reading a packed file.
DAMAGED = (
    EOFError, OSError, zlib.error, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError,
)  # fmt: skip


@contextmanager
def opened(path: Document) -> Iterator[BinaryIO]:
    """Open a file, gzipped or in UTF-16 or neither; raise OSError if that fails."""
    with cast(BinaryIO, path.open("rb")) as raw:
        begins = raw.read(len(codecs.BOM_UTF8))
        # Editors put a mark before the text that no JSON begins with.
        raw.seek(len(codecs.BOM_UTF8) if begins == codecs.BOM_UTF8 else 0)
        if begins.startswith(_GZIP_MAGIC):
            with gzip.open(raw) as file:
                yield cast(BinaryIO, file)
        else:
            is_wide = begins.startswith(_UTF_16)
            yield cast(BinaryIO, codecs.EncodedFile(raw, "utf-8", "utf-16")) if is_wide else raw


def digest_of(path: Path) -> str:
    """Return a file's SHA-256; of a folder that of the lines that sha256sum says of its files."""
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.is_file())
        lines = (f"{digest_of(one)}  {one.name}\n" for one in files)
        return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_items(
    path: Document, beside: dict[str, Any] | None = None, *, most: int = MOST_HELD
) -> Iterator[Item | Problem]:
    """Yield the items of a list, or of an object's list of ``messages``, each with its number.

    At the end ``beside`` has the object's values for its keys. A break in the file, or ``most``
    bytes, yields a Problem. Raises OSError if the file can't be opened.
    """
    with opened(path) as file:
        yield from _numbered(_parse(BoundedFile(file, most), {} if beside is None else beside))


def read_messages(
    path: Document, beside: dict[str, Any] | None = None, *, most: int = MOST_HELD
) -> Iterator[Item | Problem]:
    """Yield the objects of a JSON Lines file, or the items of any other as ``read_items`` does."""
    in_lines = take_sample(path).in_lines
    yield from read_lines(path, most) if in_lines else read_items(path, beside, most=most)


def read_lines(path: Document, most: int = MOST_HELD) -> Iterator[Item | Problem]:
    """Yield the objects of a JSON Lines file, each with its number; a Problem for other lines."""
    left = most
    with opened(path) as file:
        for found in _numbered(iter(lambda: file.readline(MAX_GAP + 1), b"")):
            if isinstance(found, Problem):
                yield found
                continue
            left -= len(found[1]) + BESIDES
            if len(found[1]) > MAX_GAP or left < 0:
                line = say("The line is longer than {most} MB.", most=MAX_GAP >> 20)
                yield Problem(found[0], line if left >= 0 else too_long(most))
                return
            if found[1].strip():
                yield _read_line(*found)


def read_list_or_object(path: Document) -> Iterator[Item | Problem]:
    """Yield the items of a list or of lines, or a file that is one item, which may be deeper."""
    sample = take_sample(path)
    if sample.in_lines and "\n" in sample.head.strip():
        yield from read_lines(path, LARGEST)
        return
    if sample.head.startswith("["):
        yield from read_items(path, most=LARGEST)
        return
    with opened(path) as file:
        for found in _numbered(_parse_whole(file)):
            yield found if isinstance(found, Problem) else _checked(*found)


def _read_line(number: int, line: bytes) -> Item | Problem:
    if len(line) > SAMPLED_BYTES or line.count(b"[") + line.count(b"{") > MAX_DEPTH:
        # In one go it would hold up all else, or be nested too deeply.
        (found,) = itertools.islice(_numbered(_parse_whole(io.BytesIO(line), MAX_DEPTH)), 1)
        return found if isinstance(found, Problem) else _checked(number, found[1])
    try:
        return _checked(number, json.loads(line))
    except (ValueError, RecursionError):
        return Problem(number, NO_JSON)


def _checked(number: int, value: Any) -> Item | Problem:
    is_object = isinstance(value, dict)
    return (number, value) if is_object else Problem(number, noop("This is no object."))


def _numbered(values: Iterator[Any]) -> Iterator[Item | Problem]:
    index = 0
    try:
        for index, value in enumerate(values, start=1):
            yield Problem(index, str(value)) if isinstance(value, Unusable) else (index, value)
    except Unusable as error:
        yield Problem(index + 1, str(error))
    except ijson.JSONError as error:
        # The parser's reason quotes a piece of the file, which is left out.
        match = re.search(r"error: ([a-zA-Z0-9 (),-]+)", str(error))
        reason = noop("The file is not JSON from here on.")
        if match:
            reason = say("The file is not JSON from here on ({said}).", said=match[1].strip())
        yield Problem(index + 1, reason)
    except DAMAGED:
        reason = noop("The compressed file is damaged or cut off from here on.")
        yield Problem(index + 1, reason)
    else:
        if not index:
            yield Problem(1, noop("The file holds no messages."))


def _parse(file: "BoundedFile", beside: dict[str, Any], *, partly: bool = False) -> Iterator[Any]:
    parts = limit_depth(ijson.basic_parse(file, use_float=True, buf_size=PARSED_AT_ONCE), DEEPEST)
    first = next(parts)
    if first[0] == "start_map":
        named = _noting(ijson.parse(itertools.chain([first], parts)), beside)
        parts = (rest for at, *rest in named if at == _PLACE or at.startswith(f"{_PLACE}."))
    elif first[0] != "start_array":
        raise Unusable(noop("The file is neither a list of messages nor an object that holds one."))
    for item in _built(parts, MAX_DEPTH, partly=partly):
        file.begin_item()
        yield item


def _parse_whole(file: BinaryIO, deepest: int = DEEPEST) -> Iterator[Any]:
    parts = ijson.basic_parse(BoundedFile(file), use_float=True, buf_size=PARSED_AT_ONCE)
    return _built(limit_depth(parts, DEEPEST), deepest)


def _built(parts: Iterable[Sequence[Any]], deepest: int, *, partly: bool = False) -> Iterator[Any]:
    """Build values from parser events; yield Unusable in place of one that is too large or deep.

    Memory is bounded by the largest allowed value. With ``partly``, a file that exceeds its bound
    ends with the part of the last value that was read.
    """
    builder, depth, values, text = ijson.ObjectBuilder(), 0, 0, 0
    try:
        for event, value in parts:
            values += 1 if depth <= deepest else MOST_VALUES
            size = sys.getsizeof(value) if isinstance(value, str) else 0
            text += size if size <= LONGEST_TEXT else MOST_TEXT
            depth += event.startswith("start_") - event.startswith("end_")
            if depth < 0:
                # The list is over; anything behind it is an error of the parser's.
                continue
            fits = values <= MOST_VALUES and text <= MOST_TEXT
            if fits:
                builder.event(event, value)
            elif depth:
                builder = ijson.ObjectBuilder()
            if not depth:
                yield builder.value if fits else Unusable(TOO_LARGE)
                builder, values, text = ijson.ObjectBuilder(), 0, 0
    except Unusable:
        if not partly:
            raise
        yield getattr(builder, "value", None)


def _noting(parts: Iterable[Any], beside: dict[str, Any]) -> Iterator[Any]:
    """Pass the parser's parts on, and note those under the keys of ``beside``."""
    built = {name: ijson.ObjectBuilder() for name in beside}
    for prefix, event, value in parts:
        name = prefix.partition(".")[0]
        if name in built:
            built[name].event(event, value)
            beside[name] = getattr(built[name], "value", None)
        yield prefix, event, value


def limit_depth(
    parts: Iterable[tuple[str, Any]], most: int = MAX_DEPTH
) -> Iterator[tuple[str, Any]]:
    """Pass the parts on; the parser's time grows with the square of the depth."""
    depth = 0
    for part in parts:
        depth += part[0].startswith("start_") - part[0].startswith("end_")
        if depth > most:
            raise Unusable(say("The file is nested more than {most} levels deep.", most=most))
        yield part


class BoundedFile:
    """A file with a limit on its bytes, in total and between two items."""

    def __init__(self, file: BinaryIO, most: int = MOST_HELD) -> None:
        self._file = file
        self._most = most
        self._since_item = self._read = 0

    def begin_item(self) -> None:
        """Reset the count of bytes between items."""
        self._since_item = 0
        self._read += BESIDES

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; raise Stopped once the import was stopped."""
        go_on()
        data = self._file.read(size)
        self._since_item += len(data)
        self._read += len(data)
        if self._since_item > MAX_GAP:
            said = noop("The file goes on for {most} MB without another message.")
            raise Unusable(said.format(most=MAX_GAP >> 20))
        if self._read > self._most:
            raise Unusable(too_long(self._most))
        return data


def too_long(most: int) -> str:
    """Return the error text for a file of more than ``most`` bytes."""
    return say("The file is longer than {most} MB.", most=most >> 20)


@dataclass(frozen=True)
class Sample:
    """The beginning of a file or a folder, to recognise its format."""

    names: frozenset[str]  # of the files
    head: str = ""  # the text up to the first items
    items: tuple[dict[str, Any], ...] = ()  # the first of its list or of its lines
    in_lines: bool = False


def take_sample(path: Document) -> Sample:
    """Return the beginning of a file or a folder; an unreadable one has no text or items."""
    if path.is_dir():
        return Sample(frozenset(one.name for one in path.iterdir()))
    names = frozenset({path.name})
    try:
        with opened(path) as file:
            head = file.read(SAMPLED_BYTES).decode(errors="replace").removeprefix("\ufeff").lstrip()
    except DAMAGED:
        return Sample(names)
    # Most lines of JSON Lines are objects by themselves, some may be broken.
    rows = [*itertools.islice(filter(str.strip, head.split("\n")), SAMPLED_ITEMS)]
    found = [_read_line(0, one.encode(errors="replace")) for one in rows]
    lines = [one[1] for one in found if not isinstance(one, Problem)]
    is_whole = any({"messages", "messagesTree", "format"} & one.keys() for one in lines)
    is_whole = is_whole or (head.startswith("[") and found[0] == Problem(0, NO_JSON))
    if lines and 2 * len(lines) >= len(rows) and not is_whole:
        return Sample(names, head, tuple(lines), in_lines=True)
    with opened(path) as file:
        values = _parse(BoundedFile(file, SAMPLED_BYTES), {}, partly=True)
        found = [*itertools.islice(_numbered(values), SAMPLED_ITEMS)]
    items = (one[1] for one in found if not isinstance(one, Problem))
    return Sample(names, head, tuple(item for item in items if isinstance(item, dict)))
