"""OpenAI's chat completions, and compatible servers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar, override

import openai

import condense
from chatapp.agent.events import SentRequest
from chatapp.agent.ports import ModelRequest
from chatapp.providers.call_errors import Refusal
from chatapp.providers.formats import Json, at
from chatapp.providers.openai.reply import OpenAIReply
from chatapp.providers.openai.request import OpenAIRequestWriter
from chatapp.providers.openai.spec import SPEC
from chatapp.providers.sdk_provider import LONGEST_NAME, SdkProvider, as_tokens
from chatapp.providers.specs import ListedModel

# Servers' names for the window of a model in their list, nested as a path.
_WINDOWS = (
    *("context_length", "max_model_len", "context_window", "max_context_length", "meta.n_ctx"),
    *("context_size", "max_input_tokens", "inputTokenLimit", "limits.max_input_tokens"),
    *("metadata.context_length", "capabilities.limits.max_context_window_tokens"),
)
_OUTPUTS = (
    *("top_provider.max_completion_tokens", "max_completion_tokens", "max_output_tokens"),
    *("outputTokenLimit", "limits.max_output_tokens", "metadata.max_tokens"),
    "capabilities.limits.max_output_tokens",
)
# Ollama's window for a model that names none.
_UNTOLD_WINDOW = 4_096
# Of so many models the window is asked for.
_MOST_ASKED = 20
_MILLION = 1_000_000
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
# Headers that the SDK would fill from the server's environment.
_AMBIENT = ("OpenAI-Organization", "OpenAI-Project")
# Another request might be taken: it was not the key, a limit or the network.
_REFUSALS = {400, 402, 403, 404, 413, 415, 416, 422, 500, 501}


class OpenAIProvider(SdkProvider):
    """Streams replies of one model."""

    spec = SPEC
    sdk: ClassVar[ModuleType] = openai
    reply_class = OpenAIReply
    path = "/chat/completions"
    models_path = "/models"
    request_id = "x-request-id"
    headers_variable = "OPENAI_CUSTOM_HEADERS"
    # A local server says nothing while it reads a long prompt, which may take minutes.
    byte_timeout = event_timeout = 600.0

    @cached_property
    def writer(self) -> OpenAIRequestWriter:
        """The writer of this model's requests."""
        return OpenAIRequestWriter(self.model, self.refused, self.base_url)

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
        return self.writer.write(request)

    @override
    def adapt(self, refusal: Refusal, request: ModelRequest, left_out: set[str]) -> bool:
        said = f"{refusal.said} {at(refusal.body, 'param') or ''}"
        return refusal.status in _REFUSALS and self.writer.adapt(said, left_out)

    async def read_models(self, client: Any, listed: Sequence[Json]) -> tuple[ListedModel, ...]:
        """Return the models of the server's list; one without keys is asked for their windows."""
        # This one first, so that its window is among those that are asked for.
        models = sorted(_models(listed), key=lambda one: one.id != self.model.name)
        if SPEC.asks_key(self.base_url):
            return tuple(models)
        asked = [await self._with_window(client, one) for one in models[:_MOST_ASKED]]
        return (*asked, *models[_MOST_ASKED:])

    async def _with_window(self, client: Any, model: ListedModel) -> ListedModel:
        """Return a model with its window, which some servers report at another address."""
        root = self.base_url.rstrip("/").removesuffix("/v1")

        async def ask(how: str, path: str, **more: Any) -> object:
            """Return a server's answer at an optional address, None if the call fails."""
            try:
                options = {"headers": self.headers()}
                call = getattr(client, how)
                return await call(f"{root}{path}", cast_to=object, options=options, **more)
            except self.failures:
                return None

        window = model.context_window
        if not window:
            props = await ask("get", "/props")
            window = as_tokens(at(props, "default_generation_settings.n_ctx"))
        if not window:
            window = _shown_window(await ask("post", "/api/show", body={"model": model.id}))
        if not window:
            more = await ask("get", f"/api/v0/models/{model.id}")
            window = as_tokens(at(more, "loaded_context_length"))
            window = window or as_tokens(at(more, "max_context_length"))
        return replace(model, context_window=window)


def _models(listed: Sequence[Json]) -> Iterator[ListedModel]:
    """Yield the models of a server's list."""
    for one in listed:
        match one:
            case {"id": str(name)} if 0 < len(name.removeprefix("models/")) <= LONGEST_NAME:
                windows = (as_tokens(at(one, path)) for path in _WINDOWS)
                outputs = (as_tokens(at(one, path)) for path in _OUTPUTS)
                yield ListedModel(
                    name.removeprefix("models/"),
                    next(filter(None, windows), None),
                    next(filter(None, outputs), None),
                    _prices(one.get("pricing")),
                )


def _shown_window(shown: object) -> int | None:
    """Return the window a model is given: its own parameter, or the default, at most its own."""
    facts = at(shown, "model_info")
    if not isinstance(facts, Mapping):
        return None
    found = (value for key, value in facts.items() if str(key).endswith(".context_length"))
    own = as_tokens(next(found, None)) or _UNTOLD_WINDOW
    parameters = at(shown, "parameters")
    told = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    return min(own, int(told[1]) if told else _UNTOLD_WINDOW)


def _prices(pricing: object) -> condense.Prices | None:
    """Return prices for a million tokens from prices for one token."""
    if not isinstance(pricing, Mapping) or not {"prompt", "completion"} <= pricing.keys():
        return None
    names = ("prompt", "completion", "input_cache_read", "input_cache_write")
    prompt, completion, read, write = [_price(pricing.get(name)) for name in names]
    if prompt is None or completion is None:
        return None
    # Where nothing is said of the cache, it costs what a prompt costs.
    read, write = prompt if read is None else read, prompt if write is None else write
    return condense.Prices(prompt, completion, read, write)


def _price(told: object) -> Decimal | None:
    if not isinstance(told, str | int | float) or len(str(told)) > LONGEST_NAME:
        return None
    try:
        price = Decimal(str(told)) * _MILLION
    except InvalidOperation:
        return None
    # A gateway that chooses among models has a price below nothing.
    return round(price, 6) if price.is_finite() and 0 <= price < _MILLION else None
