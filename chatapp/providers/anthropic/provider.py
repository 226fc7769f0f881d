"""Claude, through Anthropic's Messages API and whatever speaks it at another address."""

import asyncio
import sys
from collections.abc import AsyncIterator
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from chatapp.agent import events
from chatapp.agent.errors import ProviderError
from chatapp.agent.provider import Model, ModelRequest
from chatapp.network.addresses import Guard
from chatapp.providers.anthropic.spec import SPEC
from chatapp.providers.sealed import NO_KEY
from chatapp.providers.specs import ListedModel

if TYPE_CHECKING:
    from chatapp.providers.anthropic.connection import Connection
    from chatapp.providers.anthropic.request import RequestWriter

# While the model thinks, the vendor sends pings: silence on the line means that it is gone …
SILENCE_SECONDS = 120.0
# … but pings alone must not keep a call alive for ever.
EVENTLESS_SECONDS = 900.0

CALL = "chatapp.providers.anthropic.call"


class AnthropicProvider:
    """Streams replies of one Claude model; never retries on its own."""

    def __init__(
        self,
        model: Model,
        *,
        api_key: str,
        base_url: str = "",
        guard: Guard | None = None,
        silence: float = SILENCE_SECONDS,
        eventless: float = EVENTLESS_SECONDS,
    ) -> None:
        """Answer as ``model``; the limits are seconds without a byte and without an event.

        ``guard`` judges a ``base_url`` that a user has chosen; without it the operator has.
        """
        self._model = model
        self._key = api_key
        self._base_url = base_url or SPEC.url
        self._guard = guard
        self._silence = silence
        self._eventless = eventless

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self._model

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return the prompt's size as the vendor measures it, None when it does not say."""
        if not self._key:
            return None
        await _load_sdk()
        from chatapp.providers.anthropic.call import count  # noqa: PLC0415 - imports the SDK

        return await count(request, self._writer, self._connection)

    async def list_models(self) -> tuple[ListedModel, ...]:
        """Return the models that the server lists; raise ProviderError where it does not."""
        if not self._key:
            raise ProviderError(NO_KEY)
        await _load_sdk()
        from chatapp.providers.anthropic.catalog import list_models  # noqa: PLC0415 - so does this

        return await list_models(self._connection)

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield the reply as it is written; see :class:`chatapp.agent.ports.Provider`."""
        if not self._key:
            raise ProviderError(NO_KEY)
        await _load_sdk()
        from chatapp.providers.anthropic.call import listen  # noqa: PLC0415 - imports the SDK

        connection, eventless = self._connection, self._eventless
        async for event in listen(request, self._writer, connection, eventless=eventless):
            yield event

    @cached_property
    def _writer(self) -> "RequestWriter":
        from chatapp.providers.anthropic.request import RequestWriter  # noqa: PLC0415 - so does this

        return RequestWriter(self._model)

    @property
    def _connection(self) -> "Connection":
        from chatapp.providers.anthropic.connection import Connection  # noqa: PLC0415 - so does this

        return Connection(self._base_url, self._key, self._silence, self._guard)


async def _load_sdk() -> None:
    """Import the SDK, which takes a second, without holding up the event loop."""
    if CALL not in sys.modules:
        await asyncio.to_thread(import_module, CALL)
