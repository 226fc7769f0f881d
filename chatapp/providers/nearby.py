"""Which of the servers that people run on their own machine answer there, at their usual ports."""

import asyncio
from dataclasses import dataclass

from chatapp.agent.errors import ProviderError
from chatapp.agent.provider import Model
from chatapp.providers import create_sealed, provider_specs
from chatapp.providers.specs import ListedModel, Preset

PATIENCE = 1.0

_NOBODY = Model("", context_window=1, max_output=1)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server on this machine, and at least one model that it has."""

    provider: str
    preset: Preset
    models: tuple[ListedModel, ...]


async def find_local_servers(patience: float = PATIENCE) -> list[LocalServer]:
    """Return those that answer within ``patience`` seconds; only this machine is asked."""
    specs = provider_specs().values()
    asked = [
        _ask(spec.name, preset, patience)
        for spec in specs
        for preset in spec.presets
        if preset.is_local
    ]
    return [one for one in await asyncio.gather(*asked) if one]


async def _ask(name: str, preset: Preset, patience: float) -> LocalServer | None:
    # Whatever the name may be taken for, this is the machine itself.
    url = preset.url.replace("//localhost", "//127.0.0.1")
    provider = create_sealed(name, model=_NOBODY, api_key="", base_url=url)
    try:
        async with asyncio.timeout(patience):
            models = await provider.list_models()
    except (ProviderError, TimeoutError):
        return None
    return LocalServer(name, preset, models) if models else None
