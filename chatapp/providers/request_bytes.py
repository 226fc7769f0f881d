"""The bytes of requests and of server-sent events, the same for every provider that has them."""

import asyncio
import codecs
import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import orjson

import condense
from chatapp.agent.events import SentRequest
from chatapp.providers.call_errors import ErrorEvent, error_in

DONE = "[DONE]"
# Bytes of one reply: the longest have some 80 MB of events; and those of an event that are read
# again for free while it is incomplete.
MOST_BYTES, FREE_BYTES = 256 << 20, 1_000_000
# Seconds for the end of a body whose reply is whole.
ENDING = 0.5
_BARE = re.compile(rb"\s*(?:\{|\[\s*(?:\{|$)|\[DONE\])")
_LINE_END = re.compile(rb"[\r\n]")
_GLUED = re.compile(rb"(?<=[}\]])\s*(?:data:\s*)?(?=\{|\[DONE\])")


class Kept[T]:
    """Results by message, kept from one request to the next.

    A request of a long history thus costs only its new messages. Messages are compared by identity:
    a message that was made again counts as new.
    """

    def __init__(self, make: Callable[[condense.Message], T]) -> None:
        self._make = make
        self._kept: dict[int, tuple[condense.Message, T]] = {}

    def of(self, messages: Iterable[condense.Message]) -> list[T]:
        """Return the results for these messages, and forget those of others."""
        known = [
            self._kept.get(id(message)) or (message, self._make(message)) for message in messages
        ]
        self._kept = {id(message): (message, made) for message, made in known}
        return [made for _, made in known]


def frame(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[bytes, bytes]:
    """Return head and tail of a request whose other fields stand before and after the messages."""
    head = encode({**before, "messages": []})[:-2]
    return head, encode({"messages": [], **after})[len(b'{"messages":[') :]


def join(
    head: bytes, messages: Sequence[condense.Message], fragments: Sequence[bytes], tail: bytes
) -> SentRequest:
    """Return the request that shows these messages, each with its bytes."""
    body = b"".join((head, b",".join(fragments), tail))
    seqs = tuple([message.seq for message in messages])
    return SentRequest(head, tuple(fragments), tail, seqs, body, hashlib.sha256(body).digest())


async def read_events(reads: AsyncIterator[bytes]) -> AsyncIterator[list[object]]:
    """Yield the JSON that each read of a stream completes, in any usual framing.

    A server may mark the end with ``DONE``; pings are left out. Raises ErrorEvent for an error, and
    ValueError for broken JSON and for more than ``MOST_BYTES``, after all that came before it was
    yielded. It takes time in proportion to the bytes, whatever they are.
    """
    frames = _Frames()
    async for lines in _lines(reads):
        said: list[object] = []
        wrong: Exception | None = None
        try:
            for value in chain.from_iterable(map(frames.take, lines)):
                said.append(value)
                if error := error_in(value):
                    raise ErrorEvent(error)
        except (ErrorEvent, ValueError) as error:
            wrong = error
        if said:
            yield said
        if wrong:
            raise wrong
        if said and said[-1] == DONE:
            # A line is used again only where its body has ended.
            with suppress(Exception):
                async with asyncio.timeout(ENDING):
                    async for _rest in reads:
                        pass
            return


async def _lines(reads: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Yield the lines that each read completes, at last b""; raise ValueError for too many."""
    rest, size, is_last = list[bytes](), 0, False
    while not is_last:
        # The last event may lack its end.
        read = await anext(reads, None)
        is_last = read is None
        rest.append(b"\n\n" if read is None else read)
        size += len(rest[-1])
        if size > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        if _LINE_END.search(rest[-1]):
            lines = b"".join(rest).splitlines(keepends=True)
            # A return may be the first half of a line's end.
            rest = [lines.pop()] if lines and not lines[-1].endswith(b"\n") else []
            yield [*lines, b""] if is_last else lines


class _Frames:
    """The lines of one stream as values: each ends with its JSON, and the stream with b""."""

    def __init__(self) -> None:
        self._name = b""
        self._is_bare = False
        self._data: list[bytes] = []
        # Bytes of the data, and those that were read while it was incomplete.
        self._size = self._tried = 0

    def take(self, line: bytes) -> Iterator[object]:
        """Yield the values that a line completes."""
        if not (self._data or self._is_bare):
            # As most streams are framed, in a fraction of the time.
            if line.startswith(b"data: {") and line.endswith(b"}\n"):
                self._keep(line[6:-1])
                yield from self._event(line[6:-1], is_over=False)
                return
            if line == b"\n" and not self._name:
                return
            # The value says again what it is, but for an error.
            if line.startswith(b"event: ") and line.endswith(b"\n") and b"error" not in line:
                self._name = b""
                return
        line = line.removeprefix(codecs.BOM_UTF8)
        field, _, value = line.rstrip(b"\r\n").partition(b":")
        is_over = not line or (line.isspace() and not self._is_bare)
        if not is_over and (self._is_bare or _BARE.match(line)):
            # JSON without a frame: one object, or one a line.
            self._is_bare, field, value = True, b"data", line
        if field.strip() == b"event":
            self._name = value.strip()
        elif field.strip() == b"data":
            self._keep(value.removeprefix(b" data:"))
        is_end = line.rstrip().endswith((b"}", b"]"))
        if is_over or (is_end and self._tried <= FREE_BYTES + 2 * self._size):
            yield from self._event(b"\n".join(self._data).strip(), is_over=is_over)

    def _keep(self, data: bytes) -> None:
        self._data.append(data)
        self._size += len(data)

    def _event(self, text: bytes, *, is_over: bool) -> Iterator[object]:
        try:
            value = decode(text) if text not in (b"", DONE.encode()) else text.decode()
        except ValueError:
            parts = _GLUED.split(text)
            with suppress(ValueError):
                if len(parts) > 1 and [decode(one) for one in parts if one != DONE.encode()]:
                    yield from chain.from_iterable(self._event(one, is_over=True) for one in parts)
                    return
            if not is_over:
                self._tried += self._size
                return
            if self._name != b"error" and text[:1] in (b"{", b"["):
                raise
            value = text.decode(errors="replace")
        name, self._name, self._data, self._is_bare = self._name, b"", [], False
        self._size = self._tried = 0
        if name == b"error" and (text or is_over):
            raise ErrorEvent(error_in(value) or value)
        if isinstance(value, list) and all(isinstance(one, dict) for one in value):
            yield from value
        elif text and not (isinstance(value, dict) and value.get("type") == "ping"):
            yield value


def encode(value: object) -> bytes:
    """Return a value as compact JSON in UTF-8."""
    try:
        return orjson.dumps(value, default=_plain)
    except TypeError:
        # JSON has numbers of more than 64 bits, orjson has not.
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
        return text.encode()


def decode(text: bytes) -> object:
    """Return the value of JSON as a stream carries it; raise ValueError for other text."""
    try:
        return orjson.loads(text)
    except ValueError:
        # Not for orjson: half a surrogate, which some servers split between two events, a bare tab
        # in a text, and a byte that is no UTF-8.
        try:
            return json.loads(text.decode(errors="replace"), strict=False)
        except RecursionError as deep:
            raise ValueError(str(deep)) from deep


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)
