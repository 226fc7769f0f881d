"""The bytes of requests and of server-sent events, the same for every provider that has them."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

import condense
from chatapp.agent.events import SentRequest
from chatapp.providers.call_errors import ErrorEvent

# The names of events that say nothing.
_SILENT = frozenset({b"", b"ping"})
# What a tool call's input is kept under where it is no JSON object.
UNPARSED = "_unparsed"
# Characters of one that is read, which takes less than 0.1 s.
LONGEST_INPUT = 2_000_000
DONE = "[DONE]"


class Kept[T]:
    """What is made of each message, kept from one request to the next.

    A request of a long history so costs what is new in it. Messages are told apart by identity:
    one that was shaped anew is another.
    """

    def __init__(self, make: Callable[[condense.Message], T]) -> None:
        self._make = make
        self._kept: dict[int, tuple[condense.Message, T]] = {}

    def of(self, messages: Iterable[condense.Message]) -> list[T]:
        """Return what is made of these messages, and forget what was made of others."""
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


def named_event(name: bytes, data: bytes) -> Iterator[object]:
    """Yield the JSON of an event; one without a name or data, or a ping, says nothing."""
    if name == b"error":
        body: object = data.decode(errors="replace")
        with suppress(ValueError):
            body = decode(data)
        raise ErrorEvent(body)
    if data and name not in _SILENT:
        yield decode(data)


def chunk(_name: bytes, data: bytes) -> Iterator[object]:
    """Yield the JSON of an event that has no name, and DONE at the end."""
    data = data.strip()
    if data == DONE.encode():
        yield DONE
    elif data:
        yield decode_chunk(data)


async def read_events(
    reads: AsyncIterator[bytes], take: Callable[[bytes, bytes], Iterator[object]] = named_event
) -> AsyncIterator[list[object]]:
    """Yield what the events say that a read of the stream completes, all of them at once.

    ``take`` reads an event's name and data. Raises ErrorEvent for one that tells of an error, and
    ValueError for what is no JSON, once what came before it was yielded.
    """
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


def decode_chunk(data: bytes) -> object:
    """Return the value of JSON; raise ErrorEvent where it tells of an error, as ``decode`` else."""
    said = decode(data)
    if isinstance(said, Mapping) and (error := said.get("error")):
        raise ErrorEvent(error)
    return said


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
    if len(text) > LONGEST_INPUT:
        return {UNPARSED: text}
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
