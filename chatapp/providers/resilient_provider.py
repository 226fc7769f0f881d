"""Providers made safe to use: imported with a first call, retried, no key in their errors."""

import asyncio
import logging
import random as randomness
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

import condense
from chatapp.agent import events
from chatapp.agent.errors import ProviderError
from chatapp.agent.ports import Model, ModelRequest
from chatapp.providers.reasoning import stamped
from chatapp.providers.specs import ListedModel
from condense import noop

ANSWER_UNREADABLE = noop("The provider's answer could not be understood. What came of it is kept.")
BLOTTED = "[key]"
# Tokens; what is less is no window.
LEAST_WINDOW = 1_000
# Fewer characters of a key in a row give nothing away.
TELLING_KEY_CHARS = 8
SHORTEST_KEY = 4
LONGEST_SENTENCE, LONGEST_DETAILS = 1_000, 10_000

ATTEMPTS = 5
# Seconds.
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
# A provider that asks for more has not merely hiccuped: people should decide.
LONGEST_WISH = 120.0

log = logging.getLogger(__name__)


class ResilientProvider:
    """Calls a vendor's provider up to ``attempts`` times; raises nothing but ProviderError.

    ``make`` makes that provider with the first call, in a thread: to import an SDK takes a second.
    It sends ``key`` with its calls. Parts that the server ``refused`` earlier are not tried again;
    ``keep`` receives them with later ones. ``random`` gives numbers from 0 to 1 that spread the
    waits.
    """

    def __init__(
        self,
        model: Model,
        make: Callable[[Model], Any],
        *,
        key: str = "",
        attempts: int = ATTEMPTS,
        refused: Mapping[str, Any] | None = None,
        keep: Callable[[Mapping[str, Any]], Awaitable[object]] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self.model = model
        self.attempts = attempts
        self._make = make
        self._made: Any = None
        self._key = key
        self._kept, self._keep = {**(refused or {})}, keep
        self._refused = {**self._kept}
        self._sleep = sleep
        self._random = random

    async def provider(self) -> Any:
        """Return the vendor's provider."""
        if self._made is None:
            self._made = await asyncio.to_thread(self._make, self.model)
            if hasattr(self._made, "refused"):
                self._made.refused = self._refused
        return self._made

    async def _completed(self, reply: events.ReplyCompleted) -> events.ReplyCompleted:
        """Keep the refusals before a reply, and stamp its thoughts with their origin."""
        if self._keep and self._refused != self._kept:
            self._kept = {**self._refused}
            await self._keep(self._kept)
        writer = getattr(self._made, "writer", None)
        return stamped(reply, writer.origin, self.model.name) if writer else reply

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return the provider's token count, None if it fails."""
        try:
            counted: int | None = await (await self.provider()).count_tokens(request)
        except Exception:
            log.exception("tokens could not be counted")
            return None
        return counted

    async def list_models(self) -> tuple[ListedModel, ...]:
        """Return the models that the server lists, none if its API has no list."""
        try:
            listing = getattr(await self.provider(), "list_models", None)
            return await listing() if listing else ()
        except Exception as error:  # noqa: BLE001 - it is logged where it is none of a provider's
            raise self._told(error) from None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[events.StreamEvent]:
        """Yield the first reply that gets anywhere, and RetryScheduled before each wait."""
        for attempt in range(1, self.attempts + 1):
            shown = False
            try:
                async with aclosing((await self.provider()).stream(request)) as stream:
                    async for event in stream:
                        is_seen = isinstance(event, events.TextStreamed | events.ToolUseStarted)
                        shown |= is_seen and not getattr(event, "text", "").isspace()
                        is_whole = isinstance(event, events.ReplyCompleted)
                        yield await self._completed(event) if is_whole else event
                return
            except Exception as error:  # noqa: BLE001 - it is logged where it is none of a provider's
                failure = self._told(error)
            self._narrow(getattr(failure, "window", None))
            most = min(self.attempts, failure.attempts or self.attempts)
            if shown or not failure.retryable or attempt >= most:
                raise failure from None
            seconds = self._wait(failure, attempt)
            yield events.RetryScheduled(str(failure), seconds, attempt + 1, most)
            await self._sleep(seconds)

    def _narrow(self, window: int | None) -> None:
        """Use the window that the vendor named for later calls if that is smaller."""
        if window is None or not LEAST_WINDOW <= window < self.model.context_window:
            return
        output = condense.output_limit(window, self.model.max_output)
        self.model = replace(self.model, context_window=window, max_output=output)
        self._made = None

    def _wait(self, error: ProviderError, attempt: int) -> float:
        """Return the seconds to wait: growing, or as many as the vendor asks for."""
        wish = error.retry_after
        if wish is None:
            longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1))
            return longest * (1 + self._random()) / 2
        if wish > LONGEST_WISH:
            # From 90 minutes on, hours are easier to read.
            count = round(wish / 60)
            told = noop("{error} It asks to try again in about {count:,} minutes.")
            if count >= 90:  # noqa: PLR2004
                count = round(count / 60)
                told = noop("{error} It asks to try again in about {count:,} hours.")
            error.args = (told.format(error=error, count=count),)
            error.retryable = False
            raise error from None
        return max(wish, 0.0)

    def _told(self, error: Exception) -> ProviderError:
        """Return the error for people, in which the key is blotted out."""
        if not isinstance(error, ProviderError):
            log.error("a provider failed in a way it should not", exc_info=error)
            error = ProviderError(ANSWER_UNREADABLE, details=f"{type(error).__name__}: {error}")
        said = condense.change_texts(str(error), lambda text: text[:LONGEST_SENTENCE])
        error.args = (condense.change_texts(said, partial(scrub, key=self._key)),)
        error.details = scrub(error.details[:LONGEST_DETAILS], self._key)
        return error


def scrub(text: str, key: str) -> str:
    """Return the text with the key, and every longer piece of it, blotted out."""
    if len(key) < SHORTEST_KEY:
        return text
    size = min(len(key), TELLING_KEY_CHARS)
    pieces = {re.escape(key[start : start + size]) for start in range(len(key) - size + 1)}
    parts, end = [], 0
    # Pieces overlap: one is looked for from every character on.
    for found in re.finditer(f"(?={'|'.join(pieces)})", text):
        at = found.start()
        if at >= end:
            parts += [text[end:at], BLOTTED]
        end = at + size
    return "".join([*parts, text[end:]])
