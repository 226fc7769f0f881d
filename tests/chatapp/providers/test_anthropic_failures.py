import pytest

from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.ports import Model
from chatapp.providers.anthropic.provider import AnthropicProvider
from chatapp.providers.call_errors import NO_KEY
from tests.chatapp.providers.requests import failure, request, stream
from tests.standin.behaviours import Answer, Gate, Raw, rate_limited
from tests.standin.behaviours import Reply as Scripted
from tests.standin.server import Standin


async def test_the_wish_to_wait_is_read(claude: AnthropicProvider, standin: Standin) -> None:
    """In milliseconds, in seconds, until a date, or not at all."""
    for headers, seconds in (
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
    ):
        standin.then(rate_limited(**headers))
        error = await failure(claude)
        assert error.retry_after == seconds


async def test_a_reply_may_end_with_an_error(claude: AnthropicProvider, standin: Standin) -> None:
    """The API says so in the stop reason; an empty reply would look like a fault of the page."""
    for reason, kind, words in (
        ("model_context_window_exceeded", ContextOverflow, "did not fit"),
        ("refusal", ProviderError, "declined"),
    ):
        standin.then(Scripted("And so", stop_reason=reason))
        error = await failure(claude)
        assert (type(error), words in str(error)) == (kind, True)


async def test_a_stream_without_events_is_given_up(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """Also where pings come."""
    standin.then(Scripted("One two three four", gate=Gate()))
    claude.event_timeout = 0.05
    await failure(claude, match="stopped answering")


async def test_a_server_of_another_kind_is_named(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """A wrong base URL often leads to something that answers, only not with a reply."""
    standin.then(Answer([b'{"status": "ok"}'], "application/json"))
    error = await failure(claude)
    assert "not as a model does. Check the base URL" in str(error)
    assert not error.retryable


@pytest.mark.parametrize("body", ["null", '{"error": []}'])
async def test_an_error_of_any_shape_is_an_error_of_the_provider(
    claude: AnthropicProvider, standin: Standin, body: str
) -> None:
    """In mid-stream, where the API documents an object; what was said before stays."""
    raw = Raw(f"event: error\ndata: {body}\n\n")
    standin.then(Scripted("One two three four", extra=(raw,)))
    heard = stream(claude, request("Hi"))
    assert isinstance(await anext(heard), events.UsageReported)
    assert await anext(heard) == events.TextStreamed("One two three ")
    with pytest.raises(ProviderError):
        await anext(heard)


async def test_a_missing_key_is_said_without_a_call() -> None:
    """There is nothing to try."""
    error = await failure(AnthropicProvider(Model("m", 1, 1), api_key=""), match="no API key")
    assert str(error) == NO_KEY
    assert not error.retryable
