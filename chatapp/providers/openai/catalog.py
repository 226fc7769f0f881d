"""The models that the server lists, with their limits and prices, wherever it tells them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

import condense
from chatapp.providers.sdk_provider import LONGEST_NAME, as_tokens
from chatapp.providers.specs import ListedModel

# What servers call the window of a model in their list, nested as a path.
_WINDOWS = ("context_length", "max_model_len", "context_window", "max_context_length", "meta.n_ctx")
_OUTPUTS = ("top_provider.max_completion_tokens", "max_completion_tokens", "max_output_tokens")
# What Ollama gives a model that says nothing of its own.
_UNTOLD_WINDOW = 4_096
# Of so many models the window is asked for.
_MOST_ASKED = 20
_MILLION = 1_000_000
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)


def read(body: object) -> Iterator[ListedModel]:
    """Yield the models of a server's list."""
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


async def with_windows(
    models: Sequence[ListedModel],
    client: Any,
    base_url: str,
    headers: Mapping[str, Any],
    failures: tuple[type[Exception], ...],
) -> tuple[ListedModel, ...]:
    """Return the models, the first with their windows, which some servers tell by another call."""
    root = base_url.rstrip("/").removesuffix("/v1")

    async def ask(how: str, path: str, **more: Any) -> object:
        """Return what a server says at an address that it may not have."""
        try:
            options = {"headers": headers}
            call = getattr(client, how)
            return await call(f"{root}{path}", cast_to=object, options=options, **more)
        except failures:
            return None

    found = []
    for model in models[:_MOST_ASKED]:
        window = model.context_window
        if not window:
            props = await ask("get", "/props")
            window = as_tokens(_at(props, "default_generation_settings.n_ctx"))
        if not window:
            window = _shown_window(await ask("post", "/api/show", body={"model": model.id}))
        if not window:
            more = await ask("get", f"/api/v0/models/{model.id}")
            window = as_tokens(_at(more, "loaded_context_length"))
            window = window or as_tokens(_at(more, "max_context_length"))
        found.append(replace(model, context_window=window))
    return (*found, *models[_MOST_ASKED:])


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


def _at(value: object, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
