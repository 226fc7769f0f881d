"""The bytes of requests and of server-sent events, the same for every provider that has them."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

import condense
from chatapp.agent.provider_port import SentRequest

# The names of events that say nothing.
_SILENT = frozenset({b"", b"ping"})
# What a tool call's input is kept under where it is no JSON object.
UNPARSED = "_unparsed"
DONE = "[DONE]"


class ErrorEvent(Exception):
    """The stream said that the call failed; ``body`` is what it said of that."""

    def __init__(self, body: object) -> None:
        """Carry what was said."""
        super().__init__(str(body))
        self.body = body


class Kept[T]:
    """What is made of each message, kept from one request to the next.

    A request of a long history so costs what is new in it. Messages are told apart by identity:
    one that was shaped anew is another.
    """

    def __init__(self, make: Callable[[condense.Message], T]) -> None:
        """Take what is made of a message."""
        self._make = make
        self._kept: dict[int, tuple[condense.Message, T]] = {}

    def of(self, messages: Iterable[condense.Message]) -> list[T]:
        """Return what is made of these messages, and forget what was made of others."""
        known = [
            self._kept.get(id(message)) or (message, self._make(message)) for message in messages
        ]
        self._kept = {id(message): (message, made) for message, made in known}
        return [made for _, made in known]


def join(
    head: bytes, messages: Sequence[condense.Message], fragments: Sequence[bytes], tail: bytes
) -> SentRequest:
    """Return the request that shows these messages, each with its bytes."""
    body = b"".join((head, b",".join(fragments), tail))
    return SentRequest(
        head=head,
        fragments=tuple(fragments),
        tail=tail,
        seqs=tuple(message.seq for message in messages),
        body=body,
        digest=hashlib.sha256(body).digest(),
    )


def opening(before: Mapping[str, object]) -> bytes:
    """Return the head of a request: what stands before its messages."""
    return encode({**before, "messages": []})[:-2]


def ending(after: Mapping[str, object]) -> bytes:
    """Return the tail of a request: the end of its messages, and what stands after them."""
    return encode({"messages": [], **after})[len(b'{"messages":[') :]


async def read_events(reads: AsyncIterator[bytes]) -> AsyncIterator[list[object]]:
    """Yield the JSON of the events that a read of the stream completes, all of them at once.

    Events without a name or data, and pings, say nothing. Raises ErrorEvent for one named "error",
    and ValueError for what is no JSON, once what came before it was yielded.
    """
    async for said in _split(reads, _event):
        yield said


async def read_chunks(reads: AsyncIterator[bytes]) -> AsyncIterator[list[object]]:
    """Yield the JSON of events that have no names, as ``read_events`` does, and DONE at the end.

    Raises ErrorEvent for one that tells of an error.
    """
    async for said in _split(reads, _chunk):
        yield said
        if said[-1] == DONE:
            return


async def _split(
    reads: AsyncIterator[bytes], take: Callable[[bytes, bytes], Iterator[object]]
) -> AsyncIterator[list[object]]:
    """Split a stream into events, wherever its reads begin and end; ``take`` reads one."""
    rest = name = b""
    data: list[bytes] = []
    async for read in reads:
        said: list[object] = []
        wrong: Exception | None = None
        lines = (rest + read).splitlines(keepends=True)
        # A return may be the first half of a line's end.
        rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        for line in lines:
            field, _, value = line.rstrip(b"\r\n").partition(b":")
            if field == b"data":
                data.append(value.removeprefix(b" "))
            elif field == b"event":
                name = value.removeprefix(b" ")
            elif line.isspace():
                event, name, data = (name, b"\n".join(data)), b"", []
                try:
                    said += take(*event)
                except (ErrorEvent, ValueError) as error:
                    wrong = error
                    break
        if said:
            yield said
        if wrong:
            raise wrong


def _event(name: bytes, data: bytes) -> Iterator[object]:
    if name == b"error":
        raise ErrorEvent(_error_body(data))
    if data and name not in _SILENT:
        yield decode(data)


def _chunk(_name: bytes, data: bytes) -> Iterator[object]:
    data = data.strip()
    if data == DONE.encode():
        yield DONE
    elif data:
        yield decode_chunk(data)


def decode_chunk(data: bytes) -> object:
    """Return the value of JSON; raise ErrorEvent where it tells of an error, as ``decode`` else."""
    chunk = decode(data)
    if isinstance(chunk, Mapping) and (error := chunk.get("error")):
        raise ErrorEvent(error)
    return chunk


def encode(value: object) -> bytes:
    """Return a value as compact JSON in UTF-8."""
    try:
        return orjson.dumps(value, default=_plain)
    except TypeError:
        # What JSON can say and orjson does not: numbers of more than 64 bits.
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
        return text.encode()


def decode(text: bytes) -> object:
    """Return the value of JSON as a stream carries it; raise ValueError where it is none."""
    try:
        return orjson.loads(text)
    except ValueError:
        # Half a surrogate, which some servers split between two events, is not for orjson.
        return json.loads(text)


def decode_input(text: str) -> dict[str, Any]:
    """Return a tool call's input; text that is no JSON object is kept under ``UNPARSED``."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {UNPARSED: text}
    return value if isinstance(value, dict) else {UNPARSED: text}


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and the infinities are no JSON


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _error_body(data: bytes) -> object:
    try:
        return decode(data)
    except ValueError:
        return data.decode(errors="replace")
