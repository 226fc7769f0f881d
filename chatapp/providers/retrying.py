"""Makes a failed model call again, where that may help and nothing was shown yet."""

import asyncio
import random as randomness
from collections.abc import AsyncIterator, Awaitable, Callable

from chatapp.agent import events
from chatapp.agent.errors import ProviderError
from chatapp.agent.provider import Model, ModelRequest, Provider
from chatapp.providers.sealed import closing

ATTEMPTS = 5
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
# A provider that asks for more has not merely hiccuped: people should decide.
LONGEST_WISH = 120.0


class Retrying:
    """A provider that tries again: with growing waits, or after as long as the vendor asks."""

    def __init__(
        self,
        provider: Provider,
        *,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        """Wrap ``provider``; ``random`` gives numbers from 0 to 1 that spread the waits."""
        self.provider = provider
        self.attempts = attempts
        self._sleep = sleep
        self._random = random

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self.provider.model

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return what the provider counts; a failure is not worth a second call."""
        return await self.provider.count_tokens(request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield the first reply that gets anywhere, and RetryScheduled before each wait."""
        for attempt in range(1, self.attempts + 1):
            shown = False
            try:
                async with closing(self.provider.stream(request)) as stream:
                    async for event in stream:
                        shown = shown or _is_shown(event)
                        yield event
                return
            except ProviderError as error:
                if shown or not error.retryable or attempt == self.attempts:
                    raise
                seconds = self._wait(error, attempt)
                reason = str(error)
            yield events.RetryScheduled(reason, seconds, attempt + 1, self.attempts)
            await self._sleep(seconds)

    def _wait(self, error: ProviderError, attempt: int) -> float:
        if error.retry_after is None:
            longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1))
            return longest * (1 + self._random()) / 2
        if error.retry_after > LONGEST_WISH:
            raise _later(error, error.retry_after) from error
        return max(error.retry_after, 0.0)


def _is_shown(event: events.StreamEvent) -> bool:
    return isinstance(event, events.TextStreamed | events.ToolUseStarted)


def _later(error: ProviderError, seconds: float) -> ProviderError:
    return ProviderError(
        f"{error} It asks to try again in {_duration(seconds)}.",
        retry_after=error.retry_after,
        status=error.status,
        details=error.details,
    )


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 90:  # noqa: PLR2004 - up to here, minutes are easier to read than hours
        return f"about {minutes} minutes"
    hours = round(minutes / 60)
    return f"about {hours} hours"
