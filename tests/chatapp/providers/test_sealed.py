"""What comes out of any provider: words, events, and errors that give no key away."""

from collections.abc import AsyncIterator

import pytest

from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.provider_port import Model, ModelRequest
from chatapp.providers import create_provider
from chatapp.providers.wrappers import Sealed, scrub
from tests.chatapp.agent.fakes import MODEL
from tests.chatapp.providers.requests import SECRET_KEY, listen, request
from tests.standin.behaviours import Failure, Raw, Reply
from tests.standin.server import Standin


class Failing:
    """Says one word and then raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    @property
    def model(self) -> Model:
        return MODEL

    async def count_tokens(self, _request: ModelRequest) -> int | None:
        raise self.error

    async def stream(self, _request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        yield events.TextStreamed("One")
        raise self.error


async def raised(error: Exception) -> ProviderError:
    """Return what becomes of an error."""
    with pytest.raises(ProviderError) as caught:
        await listen(Sealed(Failing(error), SECRET_KEY), request("Hi"))
    return caught.value


@pytest.mark.parametrize(
    "error",
    [AttributeError("no 'x'"), KeyError("x"), RecursionError(), OSError(5, "x"), SystemError()],
)
async def test_any_failure_is_an_error_of_the_provider(error: Exception) -> None:
    """So the loop keeps what was streamed, whatever a vendor's code does."""
    found = await raised(error)
    assert "could not be understood" in str(found)
    assert type(error).__name__ in found.details
    assert not found.retryable
    assert await Sealed(Failing(error), "").count_tokens(request("Hi")) is None


async def test_an_error_keeps_its_kind_and_facts() -> None:
    """Only its texts change."""
    error = ContextOverflow(f"Too long for {SECRET_KEY}", status=400, details=SECRET_KEY * 2)
    found = await raised(error)
    assert found is error
    assert (str(found), found.details, found.status) == ("Too long for [key]", "[key][key]", 400)


@pytest.mark.parametrize(
    "said", [SECRET_KEY, f"({SECRET_KEY})", SECRET_KEY[:12] + "…", "…" + SECRET_KEY[-10:]]
)
def test_a_key_or_a_long_part_of_it_is_blotted_out(said: str) -> None:
    """Wherever it stands in a sentence."""
    scrubbed = scrub(f"The key {said} is wrong.", SECRET_KEY)
    assert scrubbed.startswith("The key ")
    assert scrubbed.endswith(" is wrong.")
    assert "[key]" in scrubbed
    assert not any(SECRET_KEY[at : at + 8] in scrubbed for at in range(len(SECRET_KEY) - 7))


@pytest.mark.parametrize("key", ["", "k", "sk"])
def test_what_is_hardly_a_key_leaves_sentences_alone(key: str) -> None:
    """A server without keys is often given one letter."""
    assert scrub("Ask the desk.", key) == "Ask the desk."


ECHOES = [
    Failure(401, "authentication_error", f"Incorrect API key provided: {SECRET_KEY}."),
    Failure(400, "invalid_request_error", f"x-api-key {SECRET_KEY[:14]}… is malformed"),
    Failure(400, "invalid_request_error", f"prompt is too long: {SECRET_KEY}"),
    Failure(418, "teapot", f"{SECRET_KEY}"),
    Failure(307, "redirect", "Away", {"location": f"http://{SECRET_KEY}.example.org/"}),
    Failure(429, SECRET_KEY, "Slow down", {"request-id": SECRET_KEY}),
    Reply("One two", extra=(Raw.event({"error": {"message": SECRET_KEY}}, "error"),)),
    Reply("One two", extra=(Raw(f"event: message_delta\ndata: {SECRET_KEY}\n\n"),)),
    Reply("", stop_reason="refusal"),
]


@pytest.mark.parametrize("behaviour", ECHOES)
async def test_a_key_that_a_server_echoes_comes_no_further(
    anthropic_standin: Standin, behaviour: Failure | Reply, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither sentence, details nor log have it, whatever kind of failure it was."""
    provider = create_provider(
        "anthropic",
        model=Model("claude-opus-5-5", 200_000, 1_000),
        api_key=SECRET_KEY,
        base_url=anthropic_standin.url,
    )
    anthropic_standin.then(*[behaviour] * 5)
    provider._sleep = no_time
    with pytest.raises(ProviderError) as caught:
        await listen(provider, request("Hi"))
    said = f"{caught.value} {caught.value.details} {caplog.text}"
    assert not any(SECRET_KEY[at : at + 8] in said for at in range(len(SECRET_KEY) - 7))


async def no_time(_seconds: float) -> None:
    """Wait for nothing."""
