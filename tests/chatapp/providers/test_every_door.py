"""What holds of every vendor, through its real SDK, against the strict stand-in."""

import asyncio
import gzip
import hashlib
from dataclasses import replace

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.ports import Model, Provider
from tests.chatapp.providers.doors import Door
from tests.chatapp.providers.requests import (
    TOOLS,
    assistant,
    call,
    failure,
    listen,
    read_on,
    record,
    reply,
    request,
    result,
    text_of,
    user,
)
from tests.chatapp.providers.test_streams import claude, spoken
from tests.standin.behaviours import (
    OVERLOADED,
    UNAUTHORIZED,
    Failure,
    Gate,
    Reply,
    ToolCall,
    rate_limited,
)
from tests.standin.raw_server import Script, raw_server
from tests.standin.server import Standin

PACKED = "content-encoding: gzip"
PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


async def test_text_comes_in_pieces_and_then_whole(provider: Provider, standin: Standin) -> None:
    """The pieces are the whole, and the usage is known by then."""
    standin.reply("One two three four five six.")
    *heard, last = await listen(provider, request("Hi", tools=TOOLS))
    pieces = [one.text for one in heard if isinstance(one, events.TextStreamed)]
    assert pieces
    assert "".join(pieces) == text_of(last.content) == "One two three four five six."
    assert last.stop_reason == "end_turn"
    assert last.usage.prompt > 0
    assert last.usage.output > 0
    assert events.UsageReported(last.usage) in heard
    assert standin.problems == []


async def test_calls_of_tools_come_with_their_input(provider: Provider, standin: Standin) -> None:
    """Each is told of when it begins; its input is whole at the end."""
    calls = (ToolCall("read_file", {"path": "ä.txt"}), ToolCall("list_files", {}, id="mine"))
    standin.reply("Let me look.", tools=calls)
    *heard, last = await listen(provider, request("Look", tools=TOOLS))
    told = [one for one in heard if isinstance(one, events.ToolUseStarted)]
    text, *uses = last.content
    assert text == condense.TextBlock("Let me look.")
    assert [(one.name, one.input) for one in uses] == [  # type: ignore[union-attr]
        ("read_file", {"path": "ä.txt"}),
        ("list_files", {}),
    ]
    assert [(one.id, one.name) for one in told] == [(one.id, one.name) for one in uses]  # type: ignore[union-attr]
    assert told[1].id == "mine"
    assert last.stop_reason == "tool_use"


async def test_input_that_is_no_json_object_is_kept_and_can_be_sent_back(
    provider: Provider, standin: Standin
) -> None:
    """The model is told that its call was wrong, and what it was."""
    for raw in ('{"path": "a', "[1]"):
        standin.reply(tools=(ToolCall("read_file", id="x", raw=raw),))
        said = await reply(provider, request("Look", tools=TOOLS))
        assert said.content == (condense.ToolUseBlock("x", "read_file", {"_unparsed": raw}),)
        again = request("Look", assistant(*said.content), user(result("No.", "x", is_error=True)))
        await reply(provider, replace(again, tools=TOOLS))
        assert standin.problems == []


async def test_thinking_is_told_from_text(provider: Provider, standin: Standin) -> None:
    """It is counted as written, kept as a block of its own, and the next turn is answered."""
    standin.reply("So.", thinking="Hm. Well.")
    *heard, last = await listen(provider, request("Why?"))
    thought, text = last.content
    assert (thought.data["type"], thought.data["thinking"]) == ("thinking", "Hm. Well.")
    assert text == condense.TextBlock("So.")
    unseen = [one.text for one in heard if isinstance(one, events.ThinkingStreamed)]
    assert "".join(unseen) == "Hm. Well."
    await reply(provider, request("Why?", assistant(*last.content), "Go on"))
    assert standin.problems == []


async def test_a_whole_conversation_is_taken(provider: Provider, standin: Standin) -> None:
    """Calls, results, errors, images beside them and inside, and what came after."""
    image = condense.ImageBlock(PIXEL)
    inside = condense.ToolResultBlock("b", (condense.TextBlock("Seen."), image))
    history = (
        user("Look", image),
        assistant("Yes.", call("read_file", "a", path="x"), call("list_files", "b")),
        user(result("Not there.", "a", is_error=True), inside, "And?"),
        assistant("So."),
        user("On", "and on"),
    )
    await reply(provider, request(*condense.shape_request(history), tools=TOOLS))
    assert standin.problems == []
    raw = standin.requests[0].raw.decode()
    for words in ("Look", "Yes.", "read_file", "Not there.", "Seen.", "And?", "So.", "and on"):
        assert words in raw
    assert raw.count(PIXEL["data"]) == 2


async def test_refusals_become_sentences_and_facts(provider: Provider, standin: Standin) -> None:
    """The sentence is for people, the status for handlers, the request id for a bug report."""
    for behaviour, status, retryable, words in (
        (UNAUTHORIZED, 401, False, "did not accept the API key. Check it in Profiles"),
        (OVERLOADED, 529, True, "overloaded"),
        (Failure(404, "not_found_error", "model: x"), 404, False, "does not know the model"),
        (Failure(403, "permission_error", "No"), 403, False, "may not use"),
        (Failure(402, "billing_error", "Pay"), 402, False, "cannot pay"),
        (rate_limited(7), 429, True, "rate limit"),
        (Failure(500, "api_error", "Internal"), 500, True, "problem of its own"),
        (Failure(400, "invalid_request_error", "top_k: bad"), 400, False, "top_k: bad"),
    ):
        standin.then(behaviour)
        error = await failure(provider, request("Hi", tools=TOOLS), match=words)
        assert (error.status, error.retryable) == (status, retryable)
        assert error.retry_after == (7 if status == 429 else None)
        assert error.profile_at_fault is (status in {401, 403, 404})
        assert "request id: req_" in error.details
        assert behaviour.message in error.details


async def test_a_prompt_that_is_too_long_is_an_error_of_its_own(
    provider: Provider, standin: Standin
) -> None:
    """The server's numbers are in the sentence."""
    standin.window = 20
    assert isinstance(await failure(provider, request("word " * 30), match="20"), ContextOverflow)


@pytest.mark.parametrize(("text", "retryable"), [("", True), ("One two three four", False)])
@pytest.mark.parametrize("broken", ["cut", "overloaded_error"])
async def test_a_reply_that_breaks_off_is_retried_only_where_nothing_was_shown(
    provider: Provider, standin: Standin, *, broken: str, text: str, retryable: bool
) -> None:
    """What was seen would otherwise come twice."""
    read = Gate()
    standin.then(Reply(text, broken=broken, gate=read if text else None))
    words = "broke off|could not be reached" if broken == "cut" else "overloaded"
    with pytest.raises(ProviderError, match=words) as caught:
        await read_on(provider, request("Hi"), read)
    assert caught.value.retryable is retryable
    assert caught.value.status == (None if broken == "cut" else 529)


async def test_a_server_that_cannot_be_reached_is_named(door: Door, standin: Standin) -> None:
    """Host and port, to see a mistake in them; one that says nothing is given up."""
    model = Model(door.model, 200_000, 1_000)
    provider = door.make(model, api_key="k", base_url="http://127.0.0.1:9")
    error = await failure(provider, match=r"could not be reached at 127\.0\.0\.1:9")
    assert error.retryable
    assert error.profile_at_fault
    standin.reply("One two three four five", gate=Gate())
    provider = door.provider(standin)
    provider.byte_timeout = 0.5
    await failure(provider, match="stopped answering")


async def test_stopping_closes_the_connection(provider: Provider, standin: Standin) -> None:
    """A call that nobody waits for any more is over at once, and the next one is served."""
    standin.reply("One two three four five", gate=Gate())
    begun = asyncio.Event()

    async def read() -> None:
        async for event in provider.stream(request("Hi")):
            if isinstance(event, events.TextStreamed):
                begun.set()

    reading = asyncio.create_task(read())
    await begun.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert text_of((await reply(provider, request("Again"))).content) == "You said: Again"


async def test_what_is_recorded_is_what_is_sent(provider: Provider, standin: Standin) -> None:
    """Byte for byte, before it goes out, in its parts and as a digest."""
    asked = request("Hi", assistant("You"), "there", tools=TOOLS)
    (sent,), facts = await record(provider, asked)
    assert sent.body == standin.requests[0].raw
    assert sent.body == sent.head + b",".join(sent.fragments) + sent.tail
    assert sent.digest == hashlib.sha256(sent.body).digest()
    assert facts["request_id"].startswith("req_")
    assert facts["reply_id"]
    assert isinstance(await anext(provider.stream(asked)), events.SentRequest)
    assert len(standin.requests) == 1


async def test_a_redirect_is_not_followed(provider: Provider, standin: Standin) -> None:
    """Neither key nor prompt goes to an address that nobody chose; the error names it."""
    for status in (301, 307):
        with Standin() as other:
            away = Failure(
                status, "redirect", "Elsewhere", {"location": f"{other.url}/v1/messages"}
            )
            standin.then(away)
            error = await failure(provider, match="redirects to another address")
            assert other.requests == []
        assert f"redirects to: 127.0.0.1:{other.port}" in error.details
        assert (error.status, error.retryable) == (status, False)


async def test_a_line_that_breaks_behind_the_end_of_a_reply_costs_nothing(door: Door) -> None:
    """Some servers and proxies never end a body in order."""
    whole = {"anthropic": claude("alpha"), "openai": spoken("alpha")[:-1]}[door.name]
    async with raw_server() as server:
        read = asyncio.Event()
        server.script.append(Script([b"".join(whole), b":\n\n"], cut=True, gate=read))
        model = Model(door.model, 200_000, 1_000)
        provider = door.make(model, api_key="k", base_url=server.url)
        async for event in provider.stream(request("Hi")):
            if isinstance(event, events.TextStreamed):
                read.set()
        assert isinstance(event, events.ReplyCompleted)
        assert text_of(event.content) == "alpha"


async def test_of_what_a_server_sends_too_much_no_more_is_read(door: Door) -> None:
    """A few packed bytes could be of any size: a list, an event, and an error's words."""
    large, kind = b" " * (17 << 20), "content-type: application/json"
    late = b'{"error": %b {"message": "Too late."}}' % large
    bodies = {"200 OK": b'{"data": %b []}' % large, "201 Created": b"data: {" + large}
    async with raw_server() as server:
        model = Model(door.model, 200_000, 1_000)
        provider = door.make(model, api_key="k", base_url=server.url)
        for status, body in (*bodies.items(), ("400 Bad Request", late)):
            server.script.append(Script([gzip.compress(body, 1)], status, (kind, PACKED)))
            with pytest.raises(ProviderError) as caught:
                await (provider.list_models() if "OK" in status else reply(provider, request("Hi")))
            assert "Too late." not in str(caught.value)
