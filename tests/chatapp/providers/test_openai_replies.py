"""What servers of chat completions say, documented or not."""

import json
from typing import Any

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.providers import request_bytes
from chatapp.providers.openai.provider import OpenAIProvider
from chatapp.providers.openai.reply import Reply
from tests.chatapp.providers.requests import failure, read_on, reply, request
from tests.standin.behaviours import Failure, Gate, Raw
from tests.standin.behaviours import Reply as Scripted
from tests.standin.server import Standin


def delta(reason: str | None = None, **said: Any) -> dict[str, Any]:
    """Return a chunk."""
    return {"id": "c", "choices": [{"index": 0, "delta": said, "finish_reason": reason}]}


def calls(*pieces: dict[str, Any]) -> dict[str, Any]:
    """Return a chunk with pieces of tool calls."""
    return delta(tool_calls=[*pieces])


def heard(*chunks: Any) -> tuple[list[events.StreamEvent], events.ReplyCompleted]:
    """Return what a stream of these chunks tells, and the whole reply."""
    said = Reply()
    told = [event for chunk in chunks for event in said.take(chunk)]
    return [*told, *said.end()], said.completed()


def uses(whole: events.ReplyCompleted) -> list[tuple[str, str, Any]]:
    """Return the calls of a reply."""
    blocks = (one for one in whole.content if isinstance(one, condense.ToolUseBlock))
    return [(block.id, block.name, block.input) for block in blocks]


def piece(name: str = "", arguments: Any = "", **more: Any) -> dict[str, Any]:
    """Return a piece of a call."""
    return {**more, "function": {**({"name": name} if name else {}), "arguments": arguments}}


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(
            [
                calls(piece("x", index=0, id="a")),
                calls(piece("y", index=1, id="b")),
                calls(piece("", '{"p"', index=0), piece("", "{}", index=1)),
                calls(piece("", ":1}", index=0)),
            ],
            [("a", "x", {"p": 1}), ("b", "y", {})],
            id="in turns",
        ),
        pytest.param(
            [calls(piece("x", "{}", index=0, id="a")), calls(piece("y", "{}", index=0, id="b"))],
            [("a", "x", {}), ("b", "y", {})],
            id="all at one place",
        ),
        pytest.param(
            [
                calls(piece("x", '{"p":', id="a")),
                calls(piece("", "2}")),
                calls(piece("y", "{}", id="b")),
            ],
            [("a", "x", {"p": 2}), ("b", "y", {})],
            id="without a place",
        ),
        pytest.param(
            [calls(piece("x", part, index=0, id="a")) for part in ('{"p":', "3}")],
            [("a", "x", {"p": 3})],
            id="name and id in each piece",
        ),
        pytest.param(
            [calls(piece("x", {"p": 4}, index=0, id="a"))],
            [("a", "x", {"p": 4})],
            id="arguments as an object",
        ),
        pytest.param(
            [calls(piece("x", None, index=0, id="a", type="function"))],
            [("a", "x", {})],
            id="arguments null, and the call whole",
        ),
    ],
)
def test_calls_come_in_whatever_pieces(
    chunks: list[dict[str, Any]], expected: list[tuple[str, str, Any]]
) -> None:
    """As the API documents it, and as other servers do."""
    told, whole = heard(*chunks)
    assert uses(whole) == expected
    started = [(one.id, one.name) for one in told if isinstance(one, events.ToolUseStarted)]
    assert started == [(id_, name) for id_, name, _ in expected]
    assert whole.stop_reason == "tool_use"


def test_calls_without_ids_get_ids_of_their_own() -> None:
    """Two of them in one piece are two; what a server signs them with goes back to it."""
    _, whole = heard(calls(piece("x", "{}"), piece("y", "{}")))
    (first, x, _), (second, y, _) = uses(whole)
    assert (x, y) == ("x", "y")
    assert first != second
    signed = {"google": {"thought_signature": "abc"}}
    _, whole = heard(calls(piece("x", "{}", index=0, id="a", extra_content=signed)))
    assert whole.content[0] == condense.ToolUseBlock("a", "x", {}, {"extra_content": signed})


def test_a_name_that_comes_with_each_piece_names_one_call() -> None:
    """Until its arguments are whole: what comes under the same name then is another call."""
    for place in ({"index": 0}, {}):
        parts = ("", '{"p": "{}', '"', "}", '{"p":', "{}}")
        _, whole = heard(*(calls(piece("x", part, **place)) for part in parts[:4]))
        assert [use[1:] for use in uses(whole)] == [("x", {"p": "{}"})]
        _, whole = heard(*(calls(piece("x", part)) for part in parts), calls(piece("y", "{}")))
        assert [use[1:] for use in uses(whole)] == [("x", {"p": "{}"}), ("x", {"p": {}}), ("y", {})]


def test_reasoning_is_thinking() -> None:
    """Whatever the field is called; where both are there, they say the same."""
    for name in ("reasoning_content", "reasoning"):
        told, whole = heard(
            delta(**{name: "\n"}),
            delta(**{name: "\nHm. "}),
            delta(reasoning="Well.", reasoning_content="Well."),
            delta(content="So."),
        )
        thought = condense.OpaqueBlock({"type": "thinking", "thinking": "Hm. Well."})
        assert whole.content == (thought, condense.TextBlock("So."))
        thoughts = [events.ThinkingStreamed("Hm. "), events.ThinkingStreamed("Well.")]
        assert told[1:4] == [events.ThinkingStarted(), *thoughts]


def test_content_in_parts_is_read() -> None:
    """As Mistral's reasoning models write it."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    _, whole = heard(delta(content=[thinking]), delta(content=[{"type": "text", "text": "So."}]))
    thought = condense.OpaqueBlock({"type": "thinking", "thinking": "Hm."})
    assert whole.content == (thought, condense.TextBlock("So."))


TOKENS = {"prompt_tokens": 9, "completion_tokens": 2}
CACHED = {"cached_tokens": 5, "cache_write_tokens": 3}
USAGES: list[tuple[dict[str, Any], condense.Usage]] = [
    ({"usage": TOKENS}, condense.Usage(9, 2)),
    ({"usage": {**TOKENS, "prompt_tokens_details": CACHED}}, condense.Usage(1, 2, 5, 3)),
    ({"x_groq": {"usage": TOKENS}}, condense.Usage(9, 2)),
    ({"usage": {"prompt_tokens": -1, "completion_tokens": True}}, condense.Usage()),
    ({"usage": {"prompt_tokens": 2**40, "completion_tokens": "many"}}, condense.Usage()),
    ({"usage": {"prompt_tokens": "9", "completion_tokens": 2.0}}, condense.Usage(9, 2)),
    ({"usage": {"prompt_tokens": 0.5, "completion_tokens": "1e9"}}, condense.Usage()),
    ({"usage": "much"}, condense.Usage()),
    ({"usage": None}, condense.Usage()),
]


def test_the_usage_is_read_where_it_is_and_as_far_as_it_can_be_true() -> None:
    """With the last piece, after it, in a field of the vendor's own, or not at all."""
    for given_, expected in USAGES:
        told, whole = heard(
            delta(content="Hi"), delta("stop"), {"choices": [], **given_}, request_bytes.DONE
        )
        assert whole.usage == expected
        reports = [one for one in told if isinstance(one, events.UsageReported)]
        assert len(reports) == (expected != condense.Usage())


def test_reasons_to_end_have_one_name() -> None:
    """An unknown one is kept."""
    for reason, expected in (
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("STOP", "end_turn"),
        ("eos", "end_turn"),
        ("weather", "weather"),
    ):
        assert heard(delta(content="Hi"), delta(reason))[1].stop_reason == expected


def error_event(kind: str, message: str) -> Raw:
    """Return an error in a stream."""
    return Raw(
        f"data: {json.dumps({'error': {'code': 400, 'type': kind, 'message': message}})}\n\n"
    )


async def test_an_error_in_the_stream_is_the_one_it_is(
    gpt: OpenAIProvider, standin: Standin
) -> None:
    """Also where the answer began as a success."""
    raw = error_event("exceed_context_size_error", "exceeds the context size")
    standin.then(Scripted("One two three four", extra=(raw,)))
    assert isinstance(await failure(gpt), ContextOverflow)


async def test_what_was_shown_is_not_asked_for_again(gpt: OpenAIProvider, standin: Standin) -> None:
    """Neither at once, without what was refused, nor later: the words would come twice."""
    raw, read = error_event("invalid_request_error", "temperature: unsupported"), Gate()
    standin.then(Scripted("One two three four", extra=(raw,), gate=read))
    with pytest.raises(ProviderError) as raised:
        await read_on(gpt, request("Hi"), read)
    assert not raised.value.retryable
    assert len(standin.requests) == 1


async def test_a_stream_that_ends_too_early_is_asked_for_again_unless_it_was_shown(
    gpt: OpenAIProvider, standin: Standin
) -> None:
    """Its connection is closed in good order, but nothing says that the reply is whole."""
    for said, again in (({"content": "One"}, False), ({}, True)):
        body = {"choices": [{"message": said}]}
        standin.then(Failure(200, "", "", body=body))
        error = await failure(gpt, match="broke off")
        assert error.retryable is again


ODD: list[Any] = [
    [],
    7,
    {"choices": [7]},
    {"choices": [{"delta": 7}]},
    {"choices": [{"delta": {"content": 7, "tool_calls": [7, {"function": 7}], "reasoning": []}}]},
    {"choices": [{"delta": {"tool_calls": "a", "content": [7, {"type": "thinking"}]}}]},
    {"id": 7, "choices": [{"finish_reason": 7}]},
    {"usage": [], "choices": None},
]


def test_what_is_not_as_documented_says_nothing() -> None:
    """The rest of the reply is kept."""
    for chunk in ODD:
        _, whole = heard(delta(content="So"), chunk, delta(content="."), delta("stop"))
        assert whole.content == (condense.TextBlock("So."),)


async def test_a_server_that_does_not_stream_is_understood(
    gpt: OpenAIProvider, standin: Standin
) -> None:
    """One object is all it says, and may be an error."""
    whole = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    standin.then(Failure(200, "", "", body=whole))
    assert (await reply(gpt, request("Hi"))).content == (condense.TextBlock("Hi"),)
    full = {"error": {"code": 400, "type": "exceed_context_size_error", "message": "too long"}}
    standin.then(Failure(200, "", "", body=full))
    assert isinstance(await failure(gpt), ContextOverflow)


def test_an_end_without_a_reason_is_no_end() -> None:
    """Unless the stream says that it is done."""
    said = Reply()
    [*said.take(delta(content="Half"))]
    assert not said.finished
    [*said.take(request_bytes.DONE)]
    assert said.finished
