"""The models that the server lists, with their limits and prices, wherever it tells them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

import openai

import condense
from chatapp.agent.errors import ProviderError
from chatapp.network.addresses import AddressRefused
from chatapp.providers.failures import Asked
from chatapp.providers.openai.connection import Connection
from chatapp.providers.openai.errors import FAILURES, explain
from chatapp.providers.openai.spec import SPEC
from chatapp.providers.sealed import LONGEST_NAME, as_tokens
from chatapp.providers.specs import ListedModel

# What servers call the window of a model in their list, nested as a path.
_WINDOWS = (
    "context_length",
    "max_model_len",
    "context_window",
    "max_context_length",
    "meta.n_ctx",
)
_OUTPUTS = ("top_provider.max_completion_tokens", "max_completion_tokens", "max_output_tokens")
# What Ollama gives a model that says nothing of its own.
_UNTOLD_WINDOW = 4_096
_MOST_SHOWN = 20
_MILLION = 1_000_000
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)


async def list_models(to: Connection) -> tuple[ListedModel, ...]:
    """Return the models; raise ProviderError where the server does not list them."""
    try:
        async with to.client() as client:
            body: object = await client.get(
                "/models", cast_to=object, options={"headers": to.headers}
            )
            models = [*_listed(body)]
            if SPEC.asks_key(to.base_url):
                return tuple(models)
            return tuple([await _with_window(one, client, to) for one in models[:_MOST_SHOWN]])
    except AddressRefused as error:
        raise ProviderError(str(error)) from error
    except FAILURES as error:
        raise explain(error, Asked("", to.host), started=False, shown=False) from error


def _listed(body: object) -> Iterator[ListedModel]:
    data = body.get("data") if isinstance(body, Mapping) else None
    for one in data if isinstance(data, list) else ():
        match one:
            case {"id": str(name)} if 0 < len(name.removeprefix("models/")) <= LONGEST_NAME:
                windows = (as_tokens(_at(one, path)) for path in _WINDOWS)
                outputs = (as_tokens(_at(one, path)) for path in _OUTPUTS)
                yield ListedModel(
                    name.removeprefix("models/"),
                    next(filter(None, windows), None),
                    next(filter(None, outputs), None),
                    _prices(one.get("pricing")),
                )


async def _with_window(
    model: ListedModel, client: openai.AsyncOpenAI, to: Connection
) -> ListedModel:
    """Return the model with its window, for which some servers have a call of their own."""
    if model.context_window:
        return model
    root = to.base_url.rstrip("/").removesuffix("/v1")
    props = await _ask(client, to, "get", f"{root}/props")
    window = as_tokens(_at(props, "default_generation_settings.n_ctx"))
    if not window:
        shown = await _ask(client, to, "post", f"{root}/api/show", {"model": model.id})
        window = _shown_window(shown)
    if not window:
        more = await _ask(client, to, "get", f"{root}/api/v0/models/{model.id}")
        window = as_tokens(_at(more, "loaded_context_length"))
        window = window or as_tokens(_at(more, "max_context_length"))
    return replace(model, context_window=window)


async def _ask(
    client: openai.AsyncOpenAI, to: Connection, how: str, url: str, body: object = None
) -> object:
    """Return what a server says at an address that it may not have."""
    options: Any = {"headers": to.headers}
    try:
        if how == "get":
            return await client.get(url, cast_to=object, options=options)
        return await client.post(url, cast_to=object, body=body, options=options)
    except FAILURES:
        return None


def _shown_window(shown: object) -> int | None:
    """Return the window a model is given: its own parameter, or the default, at most its own."""
    facts = _at(shown, "model_info")
    if not isinstance(facts, Mapping):
        return None
    found = (value for key, value in facts.items() if str(key).endswith(".context_length"))
    own = as_tokens(next(found, None)) or _UNTOLD_WINDOW
    parameters = _at(shown, "parameters")
    told = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    return min(own, int(told[1]) if told else _UNTOLD_WINDOW)


def _prices(pricing: object) -> condense.Prices | None:
    """Return prices that are told for one token as prices for a million."""
    if not isinstance(pricing, Mapping) or not {"prompt", "completion"} <= pricing.keys():
        return None
    names = ("prompt", "completion", "input_cache_read", "input_cache_write")
    figures = [_price(pricing.get(name)) for name in names]
    prompt, completion, read, write = figures
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


def _at(value: object, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
