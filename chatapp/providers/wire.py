"""The bytes of requests and of server-sent events, the same for every provider that has them."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

import orjson

UNNAMED = frozenset({None, "ping"})


class SentEvent(Protocol):
    """One server-sent event, as an SDK splits them off the stream."""

    @property
    def event(self) -> str | None:
        """Its name."""
        ...

    @property
    def data(self) -> str:
        """Its text."""
        ...


class ErrorEvent(Exception):
    """The stream said that the call failed; ``body`` is what it said of that."""

    def __init__(self, body: object) -> None:
        """Carry what was said."""
        super().__init__(str(body))
        self.body = body


async def read_events(stream: AsyncIterator[SentEvent]) -> AsyncIterator[object]:
    """Yield the JSON of each event of a stream; raise ErrorEvent for one named "error".

    Events without a name or data, and pings, say nothing. Raises ValueError for what is no JSON.
    """
    async for sent in stream:
        if sent.event == "error":
            raise ErrorEvent(_error_body(sent.data))
        if sent.data and sent.event not in UNNAMED:
            yield decode(sent.data)


def encode(value: object) -> bytes:
    """Return a value as compact JSON in UTF-8."""
    try:
        return orjson.dumps(value, default=_plain)
    except TypeError:
        # What JSON can say and orjson does not: numbers of more than 64 bits.
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
        return text.encode()


def decode(text: str) -> object:
    """Return the value of JSON as a stream carries it; raise ValueError where it is none."""
    try:
        return orjson.loads(text)
    except ValueError:
        # Half a surrogate, which some servers split between two events, is not for orjson.
        return json.loads(text)


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _error_body(data: str) -> object:
    try:
        return decode(data)
    except ValueError:
        return data
