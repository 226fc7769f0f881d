"""The vendors that answer: each folder here with a ``spec`` module is one, and nothing lists them.

A ``spec`` imports no SDK; the ``factory`` that it names is imported with the first call.
"""

import math
import os
import pkgutil
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from chatapp.agent.errors import AgentError
from chatapp.agent.ports import Model
from chatapp.project.network import Guard
from chatapp.providers.resilient_provider import ATTEMPTS, ResilientProvider
from chatapp.providers.specs import ProviderSpec
from condense import say

# A process rests that has used so little of a processor for so many seconds. What it does then is
# of low priority, and lets others go on after so many seconds.
RESTING, QUIET, LOW, YIELDING = 0.05, 1.0, 15, 0.0002


@cache
def provider_specs() -> Mapping[str, ProviderSpec]:
    """Return every vendor's spec by its name, in the order of the names."""
    folders = [f"{__name__}.{one.name}" for one in pkgutil.iter_modules(__path__) if one.ispkg]
    modules = [import_module(f"{one}.spec") for one in folders if find_spec(f"{one}.spec")]
    return MappingProxyType({module.SPEC.name: module.SPEC for module in modules})


def provider_spec(name: str) -> ProviderSpec:
    """Return a vendor's spec, a blank one for an unknown name: rows outlive folders."""
    return provider_specs().get(name) or ProviderSpec(name, label=name, factory="")


def keyless_spec() -> ProviderSpec:
    """Return the provider that answers without a key, for users without one."""
    return next(spec for spec in provider_specs().values() if not spec.needs_key)


def create_provider(
    name: str,
    *,
    model: Model,
    api_key: str,
    base_url: str,
    guard: Guard | None = None,
    attempts: int = ATTEMPTS,
    refused: Mapping[str, Any] | None = None,
    keep: Callable[[Mapping[str, Any]], Awaitable[object]] | None = None,
) -> ResilientProvider:
    """Return the provider called ``name``, which makes a call up to so many times.

    An empty ``base_url`` means the vendor's own address; ``guard`` judges one that a user has
    chosen, and without it the operator has. Parts that the server has ``refused`` are left out of
    requests, and ``keep`` receives them with later ones. Raises AgentError.
    """
    if name not in provider_specs():
        known = ", ".join(provider_specs())
        said = say("There is no provider {name}; there are {known}.", name=repr(name), known=known)
        raise AgentError(said)

    def make(model: Model) -> Any:
        factory = pkgutil.resolve_name(provider_specs()[name].factory)
        return factory(model, api_key=api_key, base_url=base_url, guard=guard)

    return ResilientProvider(
        model, make, key=api_key, attempts=attempts, refused=refused, keep=keep
    )


def load_sdks(names: Collection[str]) -> None:
    """Import the SDKs of vendors now, which takes a second each, so that no turn waits for it."""
    for spec in provider_specs().values():
        if spec.name in names:
            pkgutil.resolve_name(spec.factory)


def load_sdks_when_idle(names: Collection[str]) -> None:
    """Import the SDKs on a thread while this process rests; requests go before it."""
    threading.Thread(target=_load_when_idle, args=(names,), name="SDKs", daemon=True).start()


def _load_when_idle(names: Collection[str]) -> None:
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW)
    spent = -math.inf
    while (now := time.process_time()) - spent > RESTING * QUIET:
        spent = now
        time.sleep(QUIET)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(YIELDING)
    try:
        load_sdks(names)
    finally:
        sys.setswitchinterval(interval)
