from chatapp.agent.ports import Model
from chatapp.providers.anthropic.provider import AnthropicProvider
from chatapp.providers.call_errors import NO_KEY
from tests.chatapp.providers.requests import failure
from tests.standin.behaviours import Failure, Gate, rate_limited
from tests.standin.behaviours import Reply as Scripted
from tests.standin.server import Standin


async def test_the_wish_to_wait_is_read(claude: AnthropicProvider, standin: Standin) -> None:
    """In milliseconds, in seconds, until a date, in words, or not at all."""
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
    for said, seconds in (
        ("Please try again in 7.5s.", 7.5),
        ("try again in 400ms", 0.4),
        ("Please retry in 1h2m3s", 3723.0),
        ("Retry after 2 minutes, please", 120.0),
        ('"retryDelay": "38s"', 38.0),
        ('{"retry_after": 12}', 12.0),
        ("Try again in 2 days", None),
    ):
        standin.then(Failure(429, "rate_limit_error", said))
        assert (await failure(claude)).retry_after == seconds


async def test_a_stream_without_events_is_given_up(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """Also where pings come."""
    standin.then(Scripted("One two three four", gate=Gate()))
    claude.event_timeout = 0.05
    await failure(claude, match="stopped answering")


async def test_a_missing_key_is_said_without_a_call() -> None:
    """There is nothing to try."""
    error = await failure(AnthropicProvider(Model("m", 1, 1), api_key=""), match="no API key")
    assert str(error) == NO_KEY
    assert not error.retryable
