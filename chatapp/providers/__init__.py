"""The vendors that answer, by name; a vendor's module is imported when it is first used."""

from collections.abc import Callable
from importlib import import_module

from chatapp.agent.ports import Model, Provider
from chatapp.providers.retrying import Retrying

_FACTORIES = {
    "anthropic": "chatapp.providers.anthropic.provider:AnthropicProvider",
    "offline": "chatapp.providers.offline.provider:OfflineProvider",
}


class UnknownProvider(LookupError):
    """No provider has this name."""


def provider_names() -> tuple[str, ...]:
    """Return the names that :func:`create_provider` knows."""
    return tuple(_FACTORIES)


def create_provider(name: str, *, model: Model, api_key: str, base_url: str) -> Provider:
    """Return the provider called ``name``, which makes failed calls again where that may help.

    An empty ``base_url`` means the vendor's own address. Raises UnknownProvider.
    """
    if name not in _FACTORIES:
        known = ", ".join(provider_names())
        raise UnknownProvider(f"There is no provider {name!r}; there are {known}.")
    module, _, attribute = _FACTORIES[name].partition(":")
    factory: Callable[..., Provider] = getattr(import_module(module), attribute)
    return Retrying(factory(model, api_key=api_key, base_url=base_url))
