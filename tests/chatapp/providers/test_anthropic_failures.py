import asyncio

import pytest

from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.provider_port import Model
from chatapp.providers.anthropic.provider import AnthropicProvider
from chatapp.providers.call_errors import NO_KEY
from tests.chatapp.providers.requests import TOOLS, listen, read_on, request
from tests.standin.behaviours import (
    OVERLOADED,
    UNAUTHORIZED,
    Behaviour,
    Failure,
    Gate,
    Raw,
    rate_limited,
)
from tests.standin.behaviours import Reply as Scripted
from tests.standin.server import Standin


async def failure(
    provider: AnthropicProvider, standin: Standin, behaviour: Behaviour
) -> ProviderError:
    """Return the error that a behaviour of the server turns into."""
    standin.then(behaviour)
    with pytest.raises(ProviderError) as caught:
        await listen(provider, request("Hi", tools=TOOLS))
    return caught.value


@pytest.mark.parametrize(
    ("behaviour", "status", "retryable", "words"),
    [
        (UNAUTHORIZED, 401, False, "did not accept the API key. Check it in Profiles"),
        (OVERLOADED, 529, True, "overloaded"),
        (rate_limited(), 429, True, "rate limit"),
        (Failure(500, "api_error", "Internal"), 500, True, "problem of its own"),
        (Failure(503, "api_error", "Away"), 503, True, "problem of its own"),
        (Failure(402, "billing_error", "Pay"), 402, False, "cannot pay"),
        (Failure(403, "permission_error", "No"), 403, False, "may not use"),
        (Failure(404, "not_found_error", "model: x"), 404, False, "model claude-opus-5-5"),
        (Failure(400, "invalid_request_error", "top_k: bad"), 400, False, "top_k: bad"),
    ],
)
async def test_refusals_become_sentences_and_facts(
    claude: AnthropicProvider,
    anthropic_standin: Standin,
    *,
    behaviour: Failure,
    status: int,
    retryable: bool,
    words: str,
) -> None:
    """The sentence is for people, the status for handlers, the request id for a bug report."""
    error = await failure(claude, anthropic_standin, behaviour)
    assert words in str(error)
    assert (error.status, error.retryable) == (status, retryable)
    assert "request id: req_" in error.details
    assert behaviour.message in error.details


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "7", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 +99999999999"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e300"}, None),
        ({"retry-after-ms": "inf", "retry-after": "7"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_the_wish_to_wait_is_read(
    claude: AnthropicProvider,
    anthropic_standin: Standin,
    headers: dict[str, str],
    seconds: float | None,
) -> None:
    """In milliseconds, in seconds, until a date, or not at all."""
    error = await failure(claude, anthropic_standin, rate_limited(**headers))
    assert error.retry_after == seconds


async def test_an_overflow_is_an_error_of_its_own(
    claude: AnthropicProvider, anthropic_standin: Standin
) -> None:
    """The provider's numbers are in the sentence."""
    anthropic_standin.window = 20
    with pytest.raises(ContextOverflow, match=r"prompt is too long: \d+ tokens > 20 maximum"):
        await listen(claude, request("word " * 30))


async def test_a_reply_that_fills_the_window_is_an_overflow(
    claude: AnthropicProvider, anthropic_standin: Standin
) -> None:
    """The API says so in the stop reason, not with an error."""
    behaviour = Scripted("And so", stop_reason="model_context_window_exceeded")
    error = await failure(claude, anthropic_standin, behaviour)
    assert isinstance(error, ContextOverflow)


async def test_a_declined_reply_is_an_error(
    claude: AnthropicProvider, anthropic_standin: Standin
) -> None:
    """An empty reply would look like a fault of the page."""
    error = await failure(claude, anthropic_standin, Scripted(stop_reason="refusal"))
    assert "declined" in str(error)


@pytest.mark.parametrize(("text", "retryable"), [("", True), ("One two three four", False)])
@pytest.mark.parametrize(
    ("broken", "words"), [("cut", "broke off"), ("overloaded_error", "overloaded")]
)
async def test_a_stream_that_breaks_off_is_retryable_only_unseen(
    claude: AnthropicProvider,
    anthropic_standin: Standin,
    *,
    text: str,
    broken: str,
    words: str,
    retryable: bool,
) -> None:
    """What the user has begun to read is not written a second time."""
    read = Gate()
    anthropic_standin.then(Scripted(text, broken=broken, gate=read if text else None))
    with pytest.raises(ProviderError) as caught:
        await read_on(claude, request("Hi"), read)
    assert words in str(caught.value)
    assert caught.value.retryable is retryable


async def test_usage_is_told_even_when_the_stream_breaks_off(
    claude: AnthropicProvider, anthropic_standin: Standin
) -> None:
    """A call that fails half-way still costs its prompt."""
    read = Gate()
    anthropic_standin.then(Scripted("One two three four", broken="cut", gate=read))
    stream = claude.stream(request("Hi"))
    told = await anext(stream)
    assert isinstance(told, events.UsageReported)
    assert told.usage.input > 0
    await anext(stream)
    read.open()
    with pytest.raises(ProviderError):
        await anext(stream)


@pytest.mark.parametrize("limits", [{"silence": 0.05}, {"eventless": 0.05}])
async def test_a_silent_stream_is_given_up(
    anthropic_standin: Standin, limits: dict[str, float]
) -> None:
    """Neither silence on the line nor a lack of events lasts for ever."""
    gate = Gate()
    anthropic_standin.then(Scripted("One two three four", gate=gate))
    model = Model("claude-opus-5-5", 200_000, 1_000)
    provider = AnthropicProvider(model, api_key="k", base_url=anthropic_standin.url, **limits)
    with pytest.raises(ProviderError, match="stopped answering"):
        await listen(provider, request("Hi"))
    gate.open()


async def test_stop_ends_a_call_that_is_under_way(
    claude: AnthropicProvider, anthropic_standin: Standin
) -> None:
    """Cancellation is neither swallowed nor turned into an error of the provider."""
    gate = Gate()
    anthropic_standin.then(Scripted("One two three four", gate=gate))
    task = asyncio.create_task(listen(claude, request("Hi")))
    assert await asyncio.to_thread(gate.wait_until_reached)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.open()


async def test_an_address_where_nobody_listens_is_named() -> None:
    """The sentence says where, and what to check."""
    model = Model("m", 200_000, 1_000)
    provider = AnthropicProvider(model, api_key="k", base_url="http://127.0.0.1:9/api")
    with pytest.raises(ProviderError, match=r"reached at 127\.0\.0\.1:9\. Check") as caught:
        await listen(provider, request("Hi"))
    assert caught.value.retryable


async def test_a_server_of_another_kind_is_named(
    claude: AnthropicProvider, anthropic_standin: Standin
) -> None:
    """A wrong base URL often leads to something that answers, only not with a reply."""
    error = await failure(claude, anthropic_standin, Failure(200, "page", "Welcome"))
    assert "no reply of a model. Check the base URL" in str(error)
    assert not error.retryable


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(
    claude: AnthropicProvider, anthropic_standin: Standin, status: int
) -> None:
    """Neither key nor prompt goes to an address that nobody chose."""
    with Standin() as other:
        away = Failure(status, "redirect", "Elsewhere", {"location": f"{other.url}/v1/messages"})
        error = await failure(claude, anthropic_standin, away)
        assert await claude.count_tokens(request("Hi")) is not None
        assert other.requests == []
    assert "sends calls on to another address" in str(error)
    assert f"redirects to: 127.0.0.1:{other.port}" in error.details
    assert (error.status, error.retryable) == (status, False)


@pytest.mark.parametrize("body", ["[]", '"No"', "5", "null", '{"error": []}', '{"error": "No"}'])
async def test_an_error_of_any_shape_is_an_error_of_the_provider(
    claude: AnthropicProvider, anthropic_standin: Standin, body: str
) -> None:
    """In mid-stream, where the API documents an object; what was said before stays."""
    raw = Raw(f"event: error\ndata: {body}\n\n")
    anthropic_standin.then(Scripted("One two three four", extra=(raw,)))
    stream = claude.stream(request("Hi"))
    assert isinstance(await anext(stream), events.UsageReported)
    assert await anext(stream) == events.TextStreamed("One two three ")
    with pytest.raises(ProviderError):
        await anext(stream)


async def test_a_missing_key_is_said_without_a_call() -> None:
    """There is nothing to try."""
    with pytest.raises(ProviderError, match="no API key") as caught:
        await listen(AnthropicProvider(Model("m", 1, 1), api_key=""), request("Hi"))
    assert str(caught.value) == NO_KEY
    assert not caught.value.retryable
