"""Claude, through Anthropic's Messages API and whatever speaks it at another address."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import ModuleType
from typing import Any, ClassVar, override

import anthropic

from chatapp.agent.provider_port import Model, ModelRequest, SentRequest
from chatapp.network.address_guard import AddressRefused, Guard
from chatapp.providers import request_bytes
from chatapp.providers.anthropic import compaction
from chatapp.providers.anthropic.errors import FAILURES, part_refused, refusal
from chatapp.providers.anthropic.reply import Reply
from chatapp.providers.anthropic.request import RequestWriter
from chatapp.providers.anthropic.spec import SPEC
from chatapp.providers.anthropic.thinking import beta_headers, can_do_without
from chatapp.providers.call_errors import Refusal
from chatapp.providers.sdk_provider import LONGEST_NAME, SdkProvider, as_tokens
from chatapp.providers.specs import ListedModel

# While the model thinks, the vendor sends pings: silence on the line means that it is gone …
SILENCE_SECONDS = 120.0
# … but pings alone must not keep a call alive for ever.
EVENTLESS_SECONDS = 900.0


class AnthropicProvider(SdkProvider):
    """Streams replies of one Claude model."""

    spec = SPEC
    sdk: ClassVar[ModuleType] = anthropic
    failures = FAILURES
    reply = Reply
    path = "/v1/messages"
    models_path = "/v1/models?limit=1000"
    request_id = "request-id"
    headers_variable = "ANTHROPIC_CUSTOM_HEADERS"
    refusal = staticmethod(refusal)

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
        """Answer as ``model``; the limits are seconds without a byte and without an event."""
        super().__init__(model, api_key=api_key, base_url=base_url, guard=guard, silence=silence)
        self.eventless = eventless
        self.writer = RequestWriter(model)

    def open_client(self, **options: Any) -> anthropic.AsyncAnthropic:
        """Return a client; other servers may still expect the key where API 2023-06-01 had it."""
        headers = None if self.base_url == SPEC.url else {"x-api-key": self.key}
        return anthropic.AsyncAnthropic(api_key=self.key, default_headers=headers, **options)

    def headers(self, request: ModelRequest | None = None) -> Mapping[str, str]:
        """Return the type of a body, and the betas that a request needs."""
        if request is None:
            return {}
        betas = beta_headers(self.model, *compaction.betas(request))
        return {"content-type": "application/json", **betas}

    async def post(self, client: Any, sent: SentRequest, request: ModelRequest) -> Any:
        """Return the SDK's stream of a call; TimeoutError where it does not begin."""
        async with asyncio.timeout(self.eventless):
            return await super().post(client, sent, request)

    def write(self, request: ModelRequest, left_out: set[str]) -> SentRequest:
        """Return the request's bytes."""
        return self.writer.write(request, thinking="thinking" not in left_out)

    def read(self, response: Any) -> AsyncIterator[list[object]]:
        """Yield the events of a response."""
        return request_bytes.read_events(response.aiter_bytes())

    def adapts(self, refusal: Refusal, request: ModelRequest, left_out: set[str]) -> bool:
        """Whether the next request leaves out what this one was refused for."""
        writer, part = self.writer, part_refused(refusal)
        match part:
            case "thinking":
                had = part not in left_out and can_do_without(request, self.model)
                left_out.add(part)
            case "compaction":
                bound = compaction.bound_to(request)
                had = bound not in writer.unsigned and compaction.can_do_without(request)
                writer.unsigned.add(bound)
            case "late system":
                had = writer.late_system
                writer.do_without_late_system()
            case "diagnostics":
                had, writer.diagnoses = writer.diagnoses, False
            case _:
                had = False
        return had

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return the prompt's size as the vendor measures it, None when it does not say."""
        if not self.key:
            return None
        body = self.writer.write_count(request).body
        try:
            async with self.client() as client:
                counted: object = await client.post(
                    f"{self.path}/count_tokens",
                    content=body,
                    options={"headers": self.headers(request)},
                    cast_to=object,
                )
        except (AddressRefused, *FAILURES):
            return None
        match counted:
            case {"input_tokens": int(tokens)}:
                return tokens
        return None

    @override
    async def read_models(self, client: Any, body: object) -> tuple[ListedModel, ...]:
        """Return the models of the server's list, with their limits."""
        data = body.get("data") if isinstance(body, Mapping) else None
        listed = (one for one in data if isinstance(one, Mapping)) if isinstance(data, list) else ()
        return tuple(
            ListedModel(
                one["id"], as_tokens(one.get("max_input_tokens")), as_tokens(one.get("max_tokens"))
            )
            for one in listed
            if isinstance(one.get("id"), str) and 0 < len(one["id"]) <= LONGEST_NAME
        )
