"""The bytes of requests and of events."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

from chatapp.providers import wire


@dataclass(frozen=True)
class Sent:
    """An event as an SDK splits it off."""

    event: str | None
    data: str


async def stream(*events: Sent) -> AsyncIterator[Sent]:
    """Yield the events."""
    for event in events:
        yield event


async def read(*events: Sent) -> list[object]:
    """Return what a stream of these events says."""
    return [event async for event in wire.read_events(stream(*events))]


async def test_pings_and_events_without_a_name_or_data_say_nothing() -> None:
    """What is left comes as it was sent, in its order."""
    said = await read(
        Sent("ping", '{"type": "ping"}'),
        Sent(None, '{"type": "stray"}'),
        Sent("empty", ""),
        Sent("one", '{"type": "one"}'),
        Sent("two", "[2]"),
    )
    assert said == [{"type": "one"}, [2]]


@pytest.mark.parametrize(("data", "body"), [('{"a": 1}', {"a": 1}), ("No!", "No!"), ("", "")])
async def test_an_error_event_ends_the_stream_with_what_it_says(data: str, body: object) -> None:
    """As JSON where it is some, and as text otherwise."""
    with pytest.raises(wire.ErrorEvent) as caught:
        await read(Sent("error", data), Sent("late", "{}"))
    assert caught.value.body == body


async def test_what_is_no_json_is_a_value_error() -> None:
    """Which a provider takes for an answer that nobody understands."""
    with pytest.raises(ValueError, match="column"):
        await read(Sent("one", "{oops"))


async def test_half_a_surrogate_is_read() -> None:
    """Some servers split an emoji between two events; the halves meet again in the text."""
    first, second = await read(Sent("a", '"\\ud83d"'), Sent("b", '"\\ude00"'))
    assert isinstance(first, str)
    assert isinstance(second, str)
    assert (first + second).encode("utf-16", "surrogatepass").decode("utf-16") == "😀"


@pytest.mark.parametrize(
    "value",
    [
        {"b": [1, 2.5, None, True], "a": "ä😀\n\x00"},
        {"number": 2**70, "inner": MappingProxyType({"x": -(2**64)})},
        {"mapping": MappingProxyType({"tuple": (1, (2,))})},
    ],
)
def test_any_json_is_written_compactly_and_in_its_own_order(value: Mapping[str, Any]) -> None:
    """Also numbers that only Python knows, and mappings of any kind."""
    written = wire.encode(value)
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
    assert json.loads(written) == json.loads(plain)
    assert [*json.loads(written)] == [*value]
    assert b": " not in written


def test_what_no_json_can_say_is_an_error() -> None:
    """It does not go out as something else."""
    with pytest.raises(TypeError, match="object"):
        wire.encode({"a": object()})
