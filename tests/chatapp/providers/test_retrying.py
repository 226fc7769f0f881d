import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.provider_port import Model, ModelRequest
from chatapp.providers.wrappers import Retrying
from tests.chatapp.providers.requests import listen, request

DONE = events.ReplyCompleted((condense.TextBlock("Hi"),), "end_turn", condense.Usage(1, 1))
TEXT, TOOL = events.TextStreamed("Hi"), events.ToolUseStarted("c", "read_file")
USAGE = events.UsageReported(condense.Usage(1))

Script = list[list[events.StreamEvent | BaseException]]


class Scripted:
    """A provider whose calls go as written; it remembers which were closed."""

    def __init__(self, script: Script) -> None:
        self.model = Model("m", 1_000, 100)
        self.script: Iterator[list[events.StreamEvent | BaseException]] = iter(script)
        self.calls = self.closed = 0

    async def count_tokens(self, _asked: ModelRequest) -> int | None:
        """Count every prompt alike."""
        return 7

    async def stream(self, _asked: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Do what the script says for this call."""
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
        """Remember a wait."""
        self.slept.append(seconds)


@pytest.fixture
def clock() -> Clock:
    """What the waits are asked of."""
    return Clock()


def retrying(clock: Clock, *script: list[events.StreamEvent | BaseException]) -> Retrying:
    """Wrap a provider that is scripted call by call."""
    return Retrying(Scripted(list(script)), sleep=clock, random=lambda: 1.0)


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


async def test_waits_double_up_to_a_limit_and_are_spread(clock: Clock) -> None:
    """Jitter takes off at most half, so that many clients do not come back at once."""
    failures = [[passing()] for _ in range(8)]
    provider = Retrying(Scripted([*failures, [DONE]]), attempts=9, sleep=clock, random=lambda: 0.0)
    await listen(provider, request("hi"))
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]


async def test_the_last_attempt_s_error_is_raised(clock: Clock) -> None:
    """Five attempts are made, with four waits between them."""
    provider = retrying(clock, *([passing()] for _ in range(6)))
    with pytest.raises(ProviderError, match="It is busy"):
        await listen(provider, request("hi"))
    assert len(clock.slept) == 4


@pytest.mark.parametrize("shown", [TEXT, TOOL])
async def test_what_was_shown_is_not_written_again(clock: Clock, shown: events.StreamEvent) -> None:
    """A call that broke off after text or a tool call is not repeated."""
    provider = retrying(clock, [shown, passing()], [DONE])
    with pytest.raises(ProviderError):
        await listen(provider, request("hi"))
    assert clock.slept == []


@pytest.mark.parametrize("error", [ProviderError("No."), ContextOverflow("Too long.")])
async def test_a_lasting_failure_is_raised_at_once(clock: Clock, error: ProviderError) -> None:
    """A wrong key or an overflow does not get better by asking again."""
    with pytest.raises(type(error)):
        await listen(retrying(clock, [error], [DONE]), request("hi"))
    assert clock.slept == []


async def test_the_provider_s_wish_is_honoured(clock: Clock) -> None:
    """``retry_after`` replaces the computed wait, also where it is longer or zero."""
    provider = retrying(clock, [passing(retry_after=42)], [passing(retry_after=0)], [DONE])
    await listen(provider, request("hi"))
    assert clock.slept == [42, 0]


@pytest.mark.parametrize(
    ("seconds", "words"), [(300, "in about 5 minutes"), (7_200, "in about 2 hours")]
)
async def test_a_wish_that_is_too_long_ends_the_turn_with_the_time(
    clock: Clock, seconds: float, words: str
) -> None:
    """Nobody watches a spinner for five minutes: the sentence says when to come back."""
    provider = retrying(clock, [passing(retry_after=seconds)], [DONE])
    with pytest.raises(ProviderError, match=words) as caught:
        await listen(provider, request("hi"))
    assert not caught.value.retryable
    assert (caught.value.retry_after, caught.value.details) == (seconds, "id 1")
    assert clock.slept == []


async def test_stop_ends_a_wait_at_once() -> None:
    """Cancellation passes through; no further call is made."""
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    scripted = Scripted([[passing()], [DONE]])
    task = asyncio.create_task(listen(Retrying(scripted, sleep=sleep), request("hi")))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (scripted.calls, scripted.closed) == (1, 1)


async def test_a_listener_that_leaves_closes_the_call(clock: Clock) -> None:
    """Closing the wrapped stream closes the provider's, and with it the connection."""
    scripted = Scripted([[TEXT, DONE]])
    stream = Retrying(scripted, sleep=clock).stream(request("hi"))
    assert await anext(stream) == TEXT
    await stream.aclose()  # type: ignore[attr-defined]
    assert scripted.closed == 1


async def test_model_and_count_are_the_provider_s(clock: Clock) -> None:
    """Wrapping changes nothing but the retries."""
    provider = retrying(clock)
    assert provider.model.name == "m"
    assert await provider.count_tokens(request("hi")) == 7
