"""OpenAI's chat completions, and whatever speaks them at another address."""

import asyncio
from collections.abc import AsyncIterator
from importlib import import_module
from typing import TYPE_CHECKING

from chatapp.agent import events
from chatapp.agent.errors import ProviderError
from chatapp.agent.provider import Model, ModelRequest
from chatapp.network.addresses import Guard
from chatapp.providers.openai.request import RequestWriter
from chatapp.providers.openai.spec import SPEC
from chatapp.providers.sealed import NO_KEY
from chatapp.providers.specs import ListedModel

if TYPE_CHECKING:
    from chatapp.providers.openai.connection import Connection

# A local server says nothing while it reads a long prompt, which may take minutes.
SILENCE_SECONDS = 600.0


class OpenAIProvider:
    """Streams replies of one model; never retries on its own."""

    def __init__(
        self,
        model: Model,
        *,
        api_key: str,
        base_url: str = "",
        guard: Guard | None = None,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        """Answer as ``model``; ``silence`` is how many seconds may pass without an event.

        ``guard`` judges a ``base_url`` that a user has chosen; without it the operator has.
        """
        self._model = model
        self._key = api_key
        self._base_url = base_url or SPEC.url
        self._guard = guard
        self._silence = silence
        self._writer = RequestWriter(model, own=self._base_url == SPEC.url)

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self._model

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return None: the API has no call that counts, and what it charges it says with each."""

    async def list_models(self) -> tuple[ListedModel, ...]:
        """Return the models that the server lists; raise ProviderError where it does not."""
        if not self._has_key:
            raise ProviderError(NO_KEY)
        await _load_sdk()
        from chatapp.providers.openai.catalog import list_models  # noqa: PLC0415 - so does this

        return await list_models(self._connection)

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield the reply as it is written; see :class:`chatapp.agent.ports.Provider`."""
        if not self._has_key:
            raise ProviderError(NO_KEY)
        await _load_sdk()
        from chatapp.providers.openai.call import listen  # noqa: PLC0415 - imports the SDK

        async for event in listen(request, self._writer, self._connection):
            yield event

    @property
    def _has_key(self) -> bool:
        return bool(self._key) or not SPEC.asks_key(self._base_url)

    @property
    def _connection(self) -> "Connection":
        from chatapp.providers.openai.connection import Connection  # noqa: PLC0415 - imports the SDK

        return Connection(self._base_url, self._key, self._silence, self._guard)


async def _load_sdk() -> None:
    """Import the SDK, which takes half a second, without holding up the event loop."""
    await asyncio.to_thread(import_module, "chatapp.providers.openai.call")
