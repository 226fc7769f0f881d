"""The bytes of requests and of events."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from types import MappingProxyType

import pytest

from chatapp.providers import request_bytes
from chatapp.providers.call_errors import ErrorEvent
from tests.growth import assert_linear


async def stream(reads: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Yield what each read of a stream brings."""
    for one in reads:
        yield one


async def read(*reads: bytes) -> list[list[object]]:
    """Return what a stream says at each of its reads."""
    return [said async for said in request_bytes.read_events(stream(reads))]


def sent(name: str, data: str) -> bytes:
    """Return an event as it is sent."""
    return f"event: {name}\ndata: {data}\n\n".encode()


async def test_what_a_stream_says_comes_as_it_was_sent_without_pings_and_comments() -> None:
    """What is left comes in its order, of one read at once, half a surrogate too."""
    said = await read(
        sent("ping", '{"type": "ping"}'),
        b": a comment\n\n",
        sent("empty", "") + sent("one", '{"type": "one"}'),
        sent("two", "[2]"),
        sent("half", "{}").removesuffix(b"\n"),
    )
    assert said == [[{"type": "one"}], [[2]], [{}]]
    assert await read(sent("one", "1") + b"data: 2\n\n") == [[1, 2]]
    assert await read(sent("a", "1") * 500, sent("a", "2")) == [[1] * 500, [2]]
    with pytest.raises(ValueError, match="column"):
        await read(sent("one", "{oops"))
    ((first, second),) = await read(sent("a", '"\\ud83d"') + sent("b", '"\\ude00"'))
    assert (first + second).encode("utf-16", "surrogatepass").decode("utf-16") == "😀"


STREAM = sent("one", '"ä"') + b": x\nid: 7\nevent:two\ndata:[1,\ndata: 2]\n\n" + sent("three", "3")


async def test_events_are_the_same_wherever_reads_begin_and_end() -> None:
    """Also between the bytes of a letter and those of a line's end; the last line has ended."""
    for end in (b"\n", b"\r\n", b"\r"):
        for size in (1, 3, 1_000):
            text = STREAM.replace(b"\n", end) + b"\n"
            reads = [text[start : start + size] for start in range(0, len(text), size)]
            assert [event for said in await read(*reads) for event in said] == ["ä", [1, 2], 3]


async def test_an_error_event_ends_the_stream_with_what_it_says() -> None:
    """As JSON where it is some, and as text otherwise; what came before it is not lost."""
    for data in ('{"a": 1}', "No!", ""):
        reads = stream([sent("one", "1") + sent("error", data) + sent("late", "2")])
        told = request_bytes.read_events(reads)
        assert await anext(told) == [1]
        with pytest.raises(ErrorEvent) as caught:
            await anext(told)
        assert caught.value.body == ({"a": 1} if data.startswith("{") else data)


@pytest.mark.parametrize(("first", "line"), [("", "data: x}\n"), ("{\n", '"a": {},}\n')])
def test_no_lines_hold_up_the_server(first: str, line: str) -> None:
    """Each may end what came before, and none does; a hostile server could send a million."""

    def end(text: str) -> None:
        with suppress(ValueError):
            asyncio.run(read(text.encode()))

    assert_linear(end, lambda size: first + line * (size // len(line) // 2), line)


async def test_no_answer_is_read_without_an_end() -> None:
    """What is nested too deeply is broken, too."""
    with pytest.raises(ValueError, match="more than 268,435,456 bytes"):
        await read(sent("one", "1"), bytes(request_bytes.MOST_BYTES))
    with pytest.raises(ValueError, match="recursion"):
        await read(sent("one", "[" * 100_000))
    lines = [f'  "{at}": {{"a": [{at}]}},\n'.encode() for at in range(3_000)]
    ((said,),) = await read(b"{\n", *lines, b'  "end": {}\n}\n')
    assert json.dumps(said).endswith('"2999": {"a": [2999]}, "end": {}}')


def test_any_json_is_written_compactly_and_in_its_own_order() -> None:
    """Also numbers that only Python knows, mappings of any kind; what is no JSON is an error."""
    for value in (
        {"b": [1, 2.5, None, True], "a": "ä😀\n\x00"},
        {"number": 2**70, "inner": MappingProxyType({"x": -(2**64)})},
        {"mapping": MappingProxyType({"tuple": (1, (2,))})},
    ):
        written = request_bytes.encode(value)
        plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
        assert json.loads(written) == json.loads(plain)
        assert [*json.loads(written)] == [*value]
        assert b": " not in written
        with pytest.raises(TypeError, match="object"):
            request_bytes.encode({"a": object()})


async def test_no_stream_is_read_over_and_over() -> None:
    """A value may be over with any bracket; one that never is ends it."""
    lines = b"[{\n" + b" {} {}\n" * 3_000
    with pytest.raises(ValueError, match="line 3"):
        await read(lines)
    (said,) = await read(b'{"a": [\n' + b" {},\n {}\n,\n" * 999 + b"1]}\n")
    assert said == [{"a": [{}] * 1_998 + [1]}]
