"""OpenAI's chat completions, and whatever speaks them at another address."""

from collections.abc import AsyncIterator, Mapping
from types import ModuleType
from typing import Any, ClassVar, override

import openai

from chatapp.agent.provider_port import Model, ModelRequest, SentRequest
from chatapp.network.address_guard import Guard
from chatapp.providers import request_bytes
from chatapp.providers.call_errors import Refusal
from chatapp.providers.openai import catalog
from chatapp.providers.openai.errors import FAILURES, is_about_the_request, refusal
from chatapp.providers.openai.reply import Reply
from chatapp.providers.openai.request import RequestWriter
from chatapp.providers.openai.spec import SPEC
from chatapp.providers.sdk_provider import SdkProvider
from chatapp.providers.specs import ListedModel

# A local server says nothing while it reads a long prompt, which may take minutes.
SILENCE_SECONDS = 600.0
# What the SDK would take from the server's environment where nothing is given.
_AMBIENT = ("OpenAI-Organization", "OpenAI-Project")


class OpenAIProvider(SdkProvider):
    """Streams replies of one model."""

    spec = SPEC
    sdk: ClassVar[ModuleType] = openai
    failures = FAILURES
    reply = Reply
    path = "/chat/completions"
    models_path = "/models"
    request_id = "x-request-id"
    headers_variable = "OPENAI_CUSTOM_HEADERS"
    refusal = staticmethod(refusal)

    def __init__(
        self,
        model: Model,
        *,
        api_key: str,
        base_url: str = "",
        guard: Guard | None = None,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        """Answer as ``model``; ``silence`` is how many seconds may pass without an event."""
        super().__init__(model, api_key=api_key, base_url=base_url, guard=guard, silence=silence)
        self.writer = RequestWriter(model, own=self.base_url == SPEC.url)

    def open_client(self, **options: Any) -> openai.AsyncOpenAI:
        """Return a client; the SDK insists on a key, which it may lack."""
        return openai.AsyncOpenAI(
            api_key=self.key or "none",
            admin_api_key="",
            default_headers={name: openai.Omit() for name in _AMBIENT if self.guard is not None},  # type: ignore[misc]
            **options,
        )

    @override
    def headers(self, request: ModelRequest | None = None) -> Mapping[str, str | openai.Omit]:
        """Return the type of a body; without a key, none is sent."""
        kind: Mapping[str, str | openai.Omit] = {"content-type": "application/json"}
        return kind if self.key else {**kind, "Authorization": openai.Omit()}

    @override
    def write(self, request: ModelRequest, left_out: set[str]) -> SentRequest:
        """Return the request's bytes."""
        return self.writer.write(request)

    async def read(self, response: Any) -> AsyncIterator[list[object]]:
        """Yield the chunks of a response; a server that does not stream has all in one."""
        if response.headers.get("content-type", "").startswith("application/json"):
            yield [request_bytes.decode_chunk(await response.aread())]
            return
        async for said in request_bytes.read_chunks(response.aiter_bytes()):
            yield said

    @override
    def adapts(self, refusal: Refusal, request: ModelRequest, left_out: set[str]) -> bool:
        """Whether the next request leaves out what this one was refused for."""
        return is_about_the_request(refusal) and self.writer.adapt(refusal.said)

    async def read_models(self, client: Any, body: object) -> tuple[ListedModel, ...]:
        """Return the models of the server's list; one without keys is asked for their windows."""
        models = catalog.read(body)
        if SPEC.asks_key(self.base_url):
            return models
        return await catalog.with_windows(models, client, self.base_url, self.headers())
