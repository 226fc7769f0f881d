"""Specs of vendors and models, which forms, settings and checks read."""

import re
import tomllib
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import condense

# The efforts that a model may be asked for; a vendor takes the nearest that it knows.
EFFORTS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
# Tokens for a model that nobody knows: hardly one takes less. No server says both of just this.
SAFE_WINDOW, SAFE_OUTPUT = 32_000, 4_000
PRICED = ("input", "output", "cache_read", "cache_write")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model a profile may name, with limits in tokens and prices in USD per million."""

    id: str
    name: str
    context_window: int
    max_output: int
    prices: condense.Prices = field(default_factory=condense.Prices)
    compacts: bool = False
    images: bool = True

    @property
    def figures(self) -> dict[str, int | Decimal]:
        """Limits, prices and lack of image input, by their names in a profile."""
        limits = {"context_window": self.context_window, "max_output": self.max_output}
        return {**limits, "text_only": not self.images, **_figures(self.prices)}


def read_models(spec: str) -> tuple[ModelSpec, ...]:
    """Return the models that ``models.toml`` lists, in the folder of the module ``spec``."""
    listed = tomllib.loads(Path(spec).with_name("models.toml").read_text("utf-8"))
    return tuple([_model(**one) for one in listed["models"]])


def _model(*, window: int, prices: str, long: str = "", **about: Any) -> ModelSpec:
    """Return a model; ``long`` has the size of a long prompt, and factors of its prices."""
    above, *factors = long.split() or [""]
    surcharge = condense.Surcharge(int(above), *map(Decimal, factors)) if above else None
    listed: dict[str, Any] = dict(zip(PRICED, map(Decimal, prices.split()), strict=True))
    own = condense.Prices(**listed, surcharge=surcharge)
    return ModelSpec(context_window=window, prices=own, **about)


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model as a server lists it, with its limits and prices if the server states them."""

    id: str
    context_window: int | None = None
    max_output: int | None = None
    prices: condense.Prices | None = None

    @property
    def figures(self) -> dict[str, int | Decimal]:
        """Its known limits and prices, by their names in a profile."""
        limits = {"context_window": self.context_window, "max_output": self.max_output}
        known: dict[str, int | Decimal] = {name: value for name, value in limits.items() if value}
        return {**known, **(_figures(self.prices) if self.prices else {})}


def _figures(prices: condense.Prices) -> dict[str, Decimal]:
    return {f"price_{name}": getattr(prices, name) for name in PRICED}


@dataclass(frozen=True, slots=True)
class Preset:
    """A server that speaks a provider's API at another address than the provider's own.

    One that ``is_local`` runs on the user's machine, free of charge and without a key.
    """

    label: str
    url: str
    is_local: bool = False


# Local servers' names for the ending of a model's file, and for the form of its weights.
_FILE = re.compile(r"\.(?:gguf|bin|safetensors|llamafile)$", re.IGNORECASE)
_WEIGHTS = re.compile(r"[.-](?=(?:I?Q\d|BF16|FP?16|F32|MXFP)\w*$)", re.IGNORECASE)

# Vendors name the versions of a model by their date, and the newest one "latest".
_DATE = re.compile(r"-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)$")


def short_name(model: str) -> str:
    """Return a model's name as people say it: a path's file name without its ending."""
    last = re.split(r"[/\\]", model.rstrip("/\\"))[-1]
    return _WEIGHTS.sub(" ", _FILE.sub("", last)) or model


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """A vendor, as its folder's ``spec`` module describes it."""

    name: str
    label: str
    factory: str  # dotted path of its class, imported when it is needed
    models: tuple[ModelSpec, ...] = ()  # the first one is that of a new profile
    profile_name: str = ""
    needs_key: bool = True
    url: str = ""  # its own address, "" without a network
    key_variable: str = ""  # environment variable of the server's key
    url_variable: str = ""  # environment variable of the server's address
    caches_prompts: bool = False
    tool_prompt_tokens: int = 0  # of its own prompt for tools
    presets: tuple[Preset, ...] = ()  # other servers of its kind
    key_elsewhere: bool = True  # servers not among the presets need a key, too
    takes_effort: bool = False  # of a profile
    takes_temperature: bool = False  # of a profile
    names_conversations: bool = True  # can be asked for a title
    writes_at_once: bool = False  # needs no draft in advance
    endings: tuple[str, ...] = ()  # of addresses, which calls have by themselves
    # Dotted path of the class that reads its requests.
    format: str = "chatapp.providers.formats:MessagesFormat"

    @property
    def first_profile(self) -> str:
        """The name of a user's first profile."""
        return self.profile_name or self.label

    def find_model(self, model: str) -> ModelSpec | None:
        """Return the spec of a model, also under its dated name; None if it is not listed."""
        names = (model, _DATE.sub("", model))
        return next((one for name in names for one in self.models if one.id == name), None)

    def prices_of(self, model: str) -> condense.Prices:
        """Return a model's prices; an unknown model has the provider's highest of each."""
        known = self.find_model(model)
        listed = {one.id: one.prices for one in self.models if one.prices.are_set}
        if known or not listed:
            return known.prices if known else condense.Prices()
        dearest = max(listed.values(), key=lambda one: one.output)
        return replace(
            dearest, **{name: max(getattr(one, name) for one in listed.values()) for name in PRICED}
        )

    def base_of(self, url: str) -> str:
        """Return an address as calls begin with it, without an ending that it was copied with."""
        base = url.rstrip("/")
        return next((base.removesuffix(one) for one in self.endings if base.endswith(one)), url)

    def asks_key(self, url: str) -> bool:
        """Return True if calls to an address need a key; an empty address is the provider's own."""
        if not self.needs_key or not url or url == self.url:
            return self.needs_key
        known = next((one for one in self.presets if one.url == url.rstrip("/")), None)
        return not known.is_local if known else self.key_elsewhere
