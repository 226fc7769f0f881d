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
# Seconds for the end of a body whose reply is whole.
ENDING = 0.5
# Bytes that are read in vain before the ends of lines are no longer all taken for that of a value.
TRIED_FREELY = 1 << 20
# Bytes of one value, which may be an image.
LARGEST_EVENT = 16 << 20
_BARE = re.compile(rb"\s*(?:\{|\[\s*(?:\{|$)|\[DONE\])")
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
    ValueError for broken JSON, after all that came before it was yielded.
    """
    frames, is_last = _Frames(), False
    while not is_last:
        # The last event may lack its end.
        read = await anext(reads, None)
        is_last = read is None
        said: list[object] = []
        wrong: Exception | None = None
        try:
            for value in chain.from_iterable(map(frames.take, frames.lines(read))):
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


class _Frames:
    """The lines of one stream as values: each ends with its JSON."""

    def __init__(self) -> None:
        self._name, self._rest = b"", bytearray()
        self._begin()

    def lines(self, read: bytes | None) -> list[bytes]:
        """Return the lines that a read ends; None is the end of all."""
        new = b"\n\n" if read is None else read
        self._rest += new
        if len(self._rest) + self._size > LARGEST_EVENT:
            raise ValueError("too large")
        if b"\n" not in new and b"\r" not in new:
            return []
        lines = bytes(self._rest).splitlines(keepends=True)
        # A return may be the first half of a line's end.
        self._rest = bytearray(b"" if lines[-1].endswith(b"\n") else lines.pop())
        return [*lines, b""] if read is None else lines

    def _begin(self) -> None:
        self._is_bare, self._data = False, list[bytes]()
        self._size = self._tried = self._next_try = 0

    def take(self, line: bytes) -> Iterator[object]:
        """Yield the values that a line completes; an empty one ends the stream."""
        if not (self._data or self._is_bare):
            # As most streams are framed, in a fraction of the time.
            if line.startswith(b"data: {") and line.endswith(b"}\n"):
                self._data.append(line[6:-1])
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
            self._data.append(value.removeprefix(b" data:"))
            self._size += len(value)
        may_end = line.rstrip().endswith((b"}", b"]")) and self._size >= self._next_try
        if is_over or may_end:
            yield from self._event(b"\n".join(self._data).strip(), is_over=is_over)

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
                self._tried += len(text)
                self._next_try = 2 * self._size if self._tried > TRIED_FREELY else 0
                return
            if self._name != b"error" and text[:1] in (b"{", b"["):
                raise
            value = text.decode(errors="replace")
        name, self._name = self._name, b""
        self._begin()
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
        return json.loads(text.decode(errors="replace"), strict=False)


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)
