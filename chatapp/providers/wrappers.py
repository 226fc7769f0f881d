"""Wrappers of providers: import one with its first call, seal its failures, try again."""

import asyncio
import logging
import random as randomness
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import replace
from importlib import import_module
from typing import Any

from chatapp.agent import events
from chatapp.agent.errors import ProviderError
from chatapp.agent.provider_port import CallObserver, Model, ModelRequest, Provider, SentRequest
from chatapp.providers.specs import ListedModel

UNREADABLE = "The provider's answer could not be understood. What came of it is kept."
BLOTTED = "[key]"
# Fewer characters of a key in a row give nothing away.
PIECE = 8
SHORTEST_KEY = 4
LONGEST_SENTENCE, LONGEST_DETAILS = 1_000, 10_000

ATTEMPTS = 5
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
# A provider that asks for more has not merely hiccuped: people should decide.
LONGEST_WISH = 120.0

log = logging.getLogger(__name__)


class Lazy:
    """A provider that is imported with its first call: an SDK takes a second."""

    def __init__(self, factory: str, model: Model, **given: Any) -> None:
        """Take the ``module:name`` of what makes it, and what it is made of."""
        self.model = model
        self._factory = factory
        self._given = given
        self._made: Any = None

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return what the provider counts."""
        counted: int | None = await (await self._provider()).count_tokens(request)
        return counted

    async def list_models(self) -> tuple[ListedModel, ...]:
        """Return the models that the server lists, none where its API has no list."""
        listing = getattr(await self._provider(), "list_models", None)
        return await listing() if listing else ()

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield what the provider yields."""
        async with closing((await self._provider()).stream(request)) as stream:
            async for event in stream:
                yield event

    async def _provider(self) -> Any:
        if self._made is None:
            module, _, name = self._factory.partition(":")
            # In a thread: meanwhile the event loop does other things.
            factory = getattr(await asyncio.to_thread(import_module, module), name)
            self._made = factory(self.model, **self._given)
        return self._made


class _Watched:
    """An observer whose own failures are told from the provider's."""

    def __init__(self, observer: CallObserver) -> None:
        self.failure: Exception | None = None
        self.learned = observer.learned
        self._observer = observer

    async def sending(self, request: SentRequest) -> None:
        """Tell the observer, and keep what it raises."""
        try:
            await self._observer.sending(request)
        except Exception as error:
            self.failure = error
            raise


class Sealed:
    """A provider from which every failure comes as ProviderError, and no text with the key."""

    def __init__(self, provider: Provider, key: str) -> None:
        """Wrap ``provider``, which sends ``key`` with its calls."""
        self.provider = provider
        self._key = key

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self.provider.model

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return what the provider counts, None where it fails."""
        try:
            return await self.provider.count_tokens(request)
        except Exception:
            log.exception("tokens could not be counted")
            return None

    async def list_models(self) -> tuple[ListedModel, ...]:
        """Return the models that the server lists, none where its API has no list."""
        listing = getattr(self.provider, "list_models", None)
        if listing is None:
            return ()
        try:
            listed: tuple[ListedModel, ...] = await listing()
        except ProviderError as error:
            raise self._cleaned(error) from None
        except Exception as error:
            log.exception("models could not be listed")
            found = ProviderError(UNREADABLE, details=f"{type(error).__name__}: {error}")
            raise self._cleaned(found) from None
        return listed

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield what the provider yields; raise nothing of its own but ProviderError."""
        observer = _Watched(request.observer)
        try:
            async with closing(self.provider.stream(replace(request, observer=observer))) as stream:
                async for event in stream:
                    yield event
        except ProviderError as error:
            raise self._cleaned(error) from None
        except Exception as error:
            if error is observer.failure:
                raise
            log.exception("a provider failed in a way it should not")
            found = ProviderError(UNREADABLE, details=f"{type(error).__name__}: {error}")
            raise self._cleaned(found) from None

    def _cleaned(self, error: ProviderError) -> ProviderError:
        error.args = (scrub(str(error)[:LONGEST_SENTENCE], self._key),)
        error.details = scrub(error.details[:LONGEST_DETAILS], self._key)
        return error


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


def scrub(text: str, key: str) -> str:
    """Return the text with the key, and every longer piece of it, blotted out."""
    if len(key) < SHORTEST_KEY:
        return text
    size = min(len(key), PIECE)
    pieces = {key[start : start + size] for start in range(len(key) - size + 1)}
    # Pieces overlap: each is looked for from every character on.
    found = sorted(
        {one.start() for piece in pieces for one in re.finditer(f"(?={re.escape(piece)})", text)}
    )
    parts, end = [], 0
    for at in found:
        if at >= end:
            parts += [text[end:at], BLOTTED]
        end = at + size
    return "".join([*parts, text[end:]])


def closing(
    stream: AsyncIterator[events.StreamEvent],
) -> AbstractAsyncContextManager[AsyncIterator[events.StreamEvent]]:
    """Return a context that closes a generator at once when nobody listens any more."""
    return aclosing(stream) if isinstance(stream, AsyncGenerator) else nullcontext(stream)
