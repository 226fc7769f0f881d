"""Claude, through Anthropic's Messages API or a compatible server."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar, override

import anthropic

from chatapp.agent.events import SentRequest
from chatapp.agent.ports import ModelRequest
from chatapp.providers.anthropic.blocks import beta_headers, has_thinking
from chatapp.providers.anthropic.reply import AnthropicReply
from chatapp.providers.anthropic.request import AnthropicRequestWriter, compaction_betas
from chatapp.providers.anthropic.spec import SPEC
from chatapp.providers.call_errors import Refusal
from chatapp.providers.formats import Json
from chatapp.providers.sdk_provider import LONGEST_NAME, SdkProvider, as_tokens
from chatapp.providers.specs import ListedModel

# Words of a refusal of thinking that a request can do without, or must have and has not.
_OF_THINKING = ("signature", "modified", "Expected")
# Another request might be taken: it was not the key, a limit or the network.
_REFUSALS = {400, 413, 422, 500}


class AnthropicProvider(SdkProvider):
    """Streams replies of one Claude model."""

    spec = SPEC
    sdk: ClassVar[ModuleType] = anthropic
    reply_class = AnthropicReply
    path = "/v1/messages"
    models_path = "/v1/models?limit=1000"
    request_id = "request-id"
    headers_variable = "ANTHROPIC_CUSTOM_HEADERS"
    # While the model thinks, the vendor sends pings: silence on the line means that it is gone …
    byte_timeout = 120.0
    # … but pings alone must not keep a call alive for ever.
    event_timeout = 900.0

    @cached_property
    def writer(self) -> AnthropicRequestWriter:
        """The writer of this model's requests."""
        return AnthropicRequestWriter(self.model, self.refused, self.base_url)

    def open_client(self, **options: Any) -> anthropic.AsyncAnthropic:
        """Return a client; it also sends the key as API 2023-06-01 had it, for other servers."""
        headers = None if self.base_url == SPEC.url else {"x-api-key": self.key}
        return anthropic.AsyncAnthropic(api_key=self.key, default_headers=headers, **options)

    def headers(self, request: ModelRequest | None = None) -> Mapping[str, str]:
        """Return the type of a body, and the betas that a request needs."""
        if request is None:
            return {}
        asks = self.writer.traits.betas
        betas = beta_headers(self.model, *compaction_betas(request)) if asks else {}
        return {"content-type": "application/json", **betas}

    def write(self, request: ModelRequest, left_out: set[str]) -> SentRequest:
        """Return the request's bytes."""
        return self.writer.write(request, thinking="thinking" not in left_out)

    def adapt(self, refusal: Refusal, request: ModelRequest, left_out: set[str]) -> bool:
        """Leave the refused part out of the next request; return False if none is known."""
        # A compaction is not made, or not taken back: it was signed for another model, system
        # prompt or set of tools, or other words. Thinking of the history is not taken back either.
        # A server may take no system message among the others, and no question about its cache.
        said = refusal.said
        if refusal.status not in _REFUSALS:
            return False
        if "compaction" in f"{said} {refusal.body}":
            return self.writer.unsign(request)
        of_thinking = "thinking" in said and any(word in said for word in _OF_THINKING)
        if of_thinking and "thinking" not in left_out and has_thinking(request, self.model):
            left_out.add("thinking")
            return True
        return self.writer.adapt(said, left_out)

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return the prompt's size as the vendor measures it, None when it does not say."""
        if not self.key:
            return None
        body = (await asyncio.to_thread(self.writer.write_count, request)).body
        try:
            async with self.client() as client:
                counted: object = await client.post(
                    f"{self.path}/count_tokens",
                    content=body,
                    options={"headers": self.headers(request)},
                    cast_to=object,
                )
        except self.failures:
            return None
        match counted:
            case {"input_tokens": int(tokens)}:
                return tokens
        return None

    @override
    async def read_models(self, client: Any, listed: Sequence[Json]) -> tuple[ListedModel, ...]:
        """Return the models of the server's list, with their limits."""
        return tuple(
            ListedModel(
                one["id"], as_tokens(one.get("max_input_tokens")), as_tokens(one.get("max_tokens"))
            )
            for one in listed
            if isinstance(one.get("id"), str) and 0 < len(one["id"]) <= LONGEST_NAME
        )
