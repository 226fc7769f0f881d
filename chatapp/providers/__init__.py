"""The vendors that answer: each folder here with a ``spec`` module is one, and nothing lists them.

``specs``     what a vendor says of itself; reading it imports no SDK
``wire``      the bytes of requests and events; ``formats``  what a request says, read again
``sdk``       a call through a vendor's SDK; ``http``  how it leaves this server
``failures``  what came of one that failed; ``wrappers``  what stands around each provider
``servers``   what one can do, and which run on this machine
"""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType

from chatapp.agent.errors import UnknownProvider
from chatapp.agent.provider_port import Model, Provider
from chatapp.network.address_guard import Guard
from chatapp.providers.formats import MessagesFormat
from chatapp.providers.specs import ModelSpec, ProviderSpec
from chatapp.providers.wrappers import Lazy, Retrying, Sealed

__all__ = [
    "ModelSpec",
    "ProviderSpec",
    "UnknownProvider",
    "create_provider",
    "create_sealed",
    "keyless_spec",
    "provider_spec",
    "provider_specs",
    "request_format",
]


@cache
def provider_specs() -> Mapping[str, ProviderSpec]:
    """Return every vendor's spec by its name, in the order of the names."""
    folders = [f"{__name__}.{one.name}" for one in pkgutil.iter_modules(__path__) if one.ispkg]
    modules = [import_module(f"{one}.spec") for one in folders if find_spec(f"{one}.spec")]
    return MappingProxyType({module.SPEC.name: module.SPEC for module in modules})


def provider_spec(name: str) -> ProviderSpec:
    """Return a vendor's spec, a blank one where nothing has this name: rows outlive folders."""
    return provider_specs().get(name) or ProviderSpec(name, label=name, factory="")


def keyless_spec() -> ProviderSpec:
    """Return the provider that answers without a key, for those who have none yet."""
    return next(spec for spec in provider_specs().values() if not spec.needs_key)


def request_format(name: str) -> MessagesFormat:
    """Return what reads a vendor's requests."""
    module, _, attribute = provider_spec(name).format.partition(":")
    made: MessagesFormat = getattr(import_module(module), attribute)()
    return made


def create_provider(
    name: str, *, model: Model, api_key: str, base_url: str, guard: Guard | None = None
) -> Provider:
    """Return the provider called ``name``, which makes failed calls again where that may help.

    Takes and raises what ``create_sealed`` does.
    """
    made = create_sealed(name, model=model, api_key=api_key, base_url=base_url, guard=guard)
    return Retrying(made)


def create_sealed(
    name: str, *, model: Model, api_key: str, base_url: str, guard: Guard | None = None
) -> Sealed:
    """Return the provider called ``name``, each call of which is made once.

    An empty ``base_url`` means the vendor's own address; ``guard`` judges one that a user has
    chosen, and without it the operator has. Raises UnknownProvider.
    """
    if name not in provider_specs():
        known = ", ".join(provider_specs())
        raise UnknownProvider(f"There is no provider {name!r}; there are {known}.")
    factory = provider_specs()[name].factory
    return Sealed(Lazy(factory, model, api_key=api_key, base_url=base_url, guard=guard), api_key)
