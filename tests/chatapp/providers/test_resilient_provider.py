"""What comes out of any provider: words, retries, and errors that give no key away."""

from collections.abc import AsyncGenerator, Iterator

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.ports import ModelRequest
from chatapp.providers.call_errors import BROKE_OFF, EMPTY, ONLY_THOUGHT, PROVIDER_SILENT
from chatapp.providers.resilient_provider import ResilientProvider, scrub
from tests.chatapp.agent.fakes import MODEL
from tests.chatapp.providers.doors import DOORS
from tests.chatapp.providers.requests import SECRET_KEY, failure, listen, request
from tests.standin.behaviours import Failure, Raw, Reply
from tests.standin.server import Standin

DONE = events.ReplyCompleted((condense.TextBlock("Hi"),), "end_turn", condense.Usage(1, 1))
TEXT, TOOL = events.TextStreamed("Hi"), events.ToolUseStarted("c", "read_file")
USAGE = events.UsageReported(condense.Usage(1))

Script = list[list[events.StreamEvent | BaseException]]


class Scripted:
    """A provider whose calls go as written; it remembers which were closed."""

    def __init__(self, script: Script, counted: int | Exception = 7) -> None:
        self.script: Iterator[list[events.StreamEvent | BaseException]] = iter(script)
        self.counted = counted
        self.calls = self.closed = 0

    async def count_tokens(self, _asked: ModelRequest) -> int | None:
        if isinstance(self.counted, Exception):
            raise self.counted
        return self.counted

    async def stream(self, _asked: ModelRequest) -> AsyncGenerator[events.StreamEvent]:
        self.calls += 1
        try:
            for one in next(self.script):
                if isinstance(one, BaseException):
                    raise one
                yield one
        finally:
            self.closed += 1


def passing(retry_after: float | None = None) -> ProviderError:
    """Return an error that may be gone with the next call."""
    return ProviderError("It is busy.", retryable=True, retry_after=retry_after, details="id 1")


class Clock:
    """Sleeps without time passing."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def clock() -> Clock:
    """What the waits are asked of."""
    return Clock()


def retrying(
    clock: Clock, *script: list[events.StreamEvent | BaseException], attempts: int = 5
) -> ResilientProvider:
    """Wrap a provider that is scripted call by call."""
    made = Scripted(list(script))
    return ResilientProvider(
        MODEL, lambda _model: made, attempts=attempts, sleep=clock, random=lambda: 1.0
    )


async def test_a_passing_failure_is_announced_waited_for_and_overcome(clock: Clock) -> None:
    """The watchers hear the reason and the wait before it begins."""
    provider = retrying(clock, [passing()], [USAGE, passing()], [TEXT, DONE])
    assert await listen(provider, request("hi")) == [
        events.RetryScheduled("It is busy.", 1.0, attempt=2, attempts=5),
        USAGE,
        events.RetryScheduled("It is busy.", 2.0, attempt=3, attempts=5),
        TEXT,
        DONE,
    ]
    assert clock.slept == [1.0, 2.0]


async def test_waits_double_up_to_a_limit_and_are_spread_unless_the_provider_wishes_otherwise(
    clock: Clock,
) -> None:
    """Jitter takes off at most half, so that many clients do not come back at once.

    After the last attempt nothing is waited for: its error is raised.
    """
    provider = retrying(clock, *([passing()] for _ in range(10)), attempts=9)
    provider._random = lambda: 0.0
    await failure(provider, request("hi"), match="It is busy")
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]
    clock.slept.clear()
    provider = retrying(clock, [passing(retry_after=42)], [passing(retry_after=0)], [DONE])
    await listen(provider, request("hi"))
    assert clock.slept == [42, 0]


async def test_what_was_shown_is_not_written_again(clock: Clock) -> None:
    """A call that broke off after text or a tool call is not repeated."""
    for shown in (TEXT, TOOL):
        provider = retrying(clock, [shown, passing()], [DONE])
        await failure(provider, request("hi"))
        assert clock.slept == []


async def test_a_lasting_failure_is_raised_at_once(clock: Clock) -> None:
    """A wrong key or an overflow does not get better by asking again."""
    for error in (ProviderError("No."), ContextOverflow("Too long.")):
        with pytest.raises(type(error)):
            await listen(retrying(clock, [error], [DONE]), request("hi"))
        assert clock.slept == []


async def test_a_wish_that_is_too_long_ends_the_turn_with_the_time(clock: Clock) -> None:
    """Nobody watches a spinner for five minutes: the sentence says when to come back."""
    for seconds, words in ((300, "in about 5 minutes"), (7_200, "in about 2 hours")):
        provider = retrying(clock, [passing(retry_after=seconds)], [DONE])
        error = await failure(provider, request("hi"), match=words)
        assert not error.retryable
        assert (error.retry_after, error.details) == (seconds, "id 1")
        assert clock.slept == []


async def test_a_listener_that_leaves_closes_the_call(clock: Clock) -> None:
    """Closing the wrapped stream closes the provider's, and with it the connection."""
    scripted = Scripted([[TEXT, DONE]])
    stream = ResilientProvider(MODEL, lambda _model: scripted, sleep=clock).stream(request("hi"))
    assert await anext(stream) == TEXT
    await stream.aclose()
    assert scripted.closed == 1


async def raised(error: Exception) -> ProviderError:
    """Return what becomes of an error."""
    made = Scripted([[TEXT, error]])
    return await failure(ResilientProvider(MODEL, lambda _model: made, key=SECRET_KEY))


async def test_any_failure_is_an_error_of_the_provider() -> None:
    """So the loop keeps what was streamed, whatever a vendor's code does."""
    for error in (KeyError("x"), RecursionError(), OSError(5, "x")):
        found = await raised(error)
        assert "could not be understood" in str(found)
        assert type(error).__name__ in found.details
        assert not found.retryable
        made = Scripted([], counted=error)
        assert (
            await ResilientProvider(MODEL, lambda _model, made=made: made).count_tokens(
                request("Hi")
            )
            is None
        )


async def test_an_error_keeps_its_kind_and_facts() -> None:
    """Only its texts change."""
    error = ContextOverflow(f"Too long for {SECRET_KEY}", status=400, details=SECRET_KEY * 2)
    found = await raised(error)
    assert found is error
    assert (str(found), found.details, found.status) == ("Too long for [key]", "[key][key]", 400)


def test_a_key_or_a_long_part_of_it_is_blotted_out() -> None:
    """Wherever it stands in a sentence; a server without keys is often given one letter."""
    for said in (SECRET_KEY, f"({SECRET_KEY})", SECRET_KEY[:12] + "…", "…" + SECRET_KEY[-10:]):
        scrubbed = scrub(f"The key {said} is wrong.", SECRET_KEY)
        assert scrubbed.startswith("The key ")
        assert scrubbed.endswith(" is wrong.")
        assert "[key]" in scrubbed
        assert {scrub("Ask the desk.", key) for key in ("", "k", "sk")} == {"Ask the desk."}
        assert not any(SECRET_KEY[at : at + 8] in scrubbed for at in range(len(SECRET_KEY) - 7))


ECHOES = [
    Failure(401, "authentication_error", f"Incorrect API key provided: {SECRET_KEY}."),
    Failure(400, "invalid_request_error", f"prompt is too long: {SECRET_KEY}"),
    Failure(307, "redirect", "Away", {"location": f"http://{SECRET_KEY}.example.org/"}),
    Failure(429, SECRET_KEY, "Slow down", {"request-id": SECRET_KEY}),
    Reply("One two", extra=(Raw.event({"error": {"message": SECRET_KEY}}, "error"),)),
    Reply("One two", extra=(Raw(f'event: message_delta\ndata: {{"{SECRET_KEY}\n\n'),)),
]


async def test_a_key_that_a_server_echoes_comes_no_further(
    standin: Standin, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither sentence, details nor log have it, whatever kind of failure it was."""
    for behaviour in ECHOES:
        provider = DOORS[0].resilient(standin)
        standin.forget()
        standin.then(*[behaviour] * 5)
        provider._sleep = Clock()
        error = await failure(provider)
        said = f"{error} {error.details} {caplog.text}"
        assert not any(SECRET_KEY[at : at + 8] in said for at in range(len(SECRET_KEY) - 7))


def test_a_reason_that_is_told_during_a_retry_asks_nobody_to_retry() -> None:
    """The page says beside it that the call is made again, or has a button for that."""
    reasons = (BROKE_OFF, EMPTY, ONLY_THOUGHT, PROVIDER_SILENT)
    assert not [one for one in reasons if "again" in one]
