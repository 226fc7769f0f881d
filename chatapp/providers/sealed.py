"""A provider whose failures are all of one kind, and give no key away."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import replace
from typing import Protocol, runtime_checkable

from chatapp.agent import events
from chatapp.agent.errors import ProviderError
from chatapp.agent.provider import CallObserver, Model, ModelRequest, Provider, SentRequest
from chatapp.providers.specs import ListedModel

UNREADABLE = "The provider's answer could not be understood. What came of it is kept."
NO_KEY = "There is no API key for this profile. Enter one in Profiles."
BLOTTED = "[key]"
# Fewer characters of a key in a row give nothing away.
PIECE = 8
SHORTEST_KEY = 4
LONGEST_SENTENCE, LONGEST_DETAILS = 1_000, 10_000
LONGEST_NAME, LONGEST_REASON = 100, 40
# No prompt has more tokens: a larger number is a mistake, and no column could hold it.
MOST_TOKENS = 2**31 - 1

log = logging.getLogger(__name__)


@runtime_checkable
class Catalog(Protocol):
    """A provider whose server lists its models."""

    async def list_models(self) -> tuple[ListedModel, ...]:
        """Return them; raise ProviderError where the server does not answer."""
        ...


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
        if not isinstance(self.provider, Catalog):
            return ()
        try:
            return await self.provider.list_models()
        except ProviderError as error:
            raise self._cleaned(error) from None
        except Exception as error:
            log.exception("models could not be listed")
            found = ProviderError(UNREADABLE, details=f"{type(error).__name__}: {error}")
            raise self._cleaned(found) from None

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


def as_tokens(value: object) -> int | None:
    """Return a number of tokens that can be meant, None for anything else."""
    return value if type(value) is int and 0 < value <= MOST_TOKENS else None


def scrub(text: str, key: str) -> str:
    """Return the text with the key, and every longer piece of it, blotted out."""
    if len(key) < SHORTEST_KEY:
        return text
    size = min(len(key), PIECE)
    pieces = {key[start : start + size] for start in range(len(key) - size + 1)}
    found = sorted({at for piece in pieces for at in _places(text, piece)})
    parts, end = [], 0
    for at in found:
        if at >= end:
            parts += [text[end:at], BLOTTED]
        end = at + size
    return "".join([*parts, text[end:]])


def _places(text: str, piece: str) -> list[int]:
    places = []
    at = text.find(piece)
    while at >= 0:
        places.append(at)
        at = text.find(piece, at + 1)
    return places


def closing(
    stream: AsyncIterator[events.StreamEvent],
) -> AbstractAsyncContextManager[AsyncIterator[events.StreamEvent]]:
    """Return a context that closes a generator at once when nobody listens any more."""
    return aclosing(stream) if isinstance(stream, AsyncGenerator) else nullcontext(stream)
