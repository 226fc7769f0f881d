"""Profiles at work: the provider that answers for one, and what its server can do."""

from dataclasses import replace
from typing import Any

from django.conf import settings

from chatapp.agent.provider_port import Model, Provider
from chatapp.models import Profile
from chatapp.models.profiles import KeySource, server_key
from chatapp.network.address_guard import Guard
from chatapp.providers import create_provider
from chatapp.providers.model_servers import Report, probe


def provider_for(profile: Profile, *, most: int | None = None) -> Provider:
    """Return the profile's provider; raise crypto.DecryptionFailed when its key can't be read.

    Its answers have ``most`` tokens where that is given, and less than the profile's limit.
    """
    reached = _reached_by(profile)
    if most is not None:
        model: Model = reached["model"]
        reached["model"] = replace(model, max_output=min(most, model.max_output))
    return create_provider(profile.provider, **reached)


async def probe_profile(profile: Profile) -> Report:
    """Return what the profile's server can do; raise as ``provider_for`` does."""
    return await probe(create_provider(profile.provider, **_reached_by(profile), attempts=1))


def _reached_by(profile: Profile) -> dict[str, Any]:
    """Return what a provider is made of."""
    spec = profile.spec
    known = spec.find_model(profile.model)
    model = Model(
        name=profile.model,
        context_window=profile.context_window,
        max_output=profile.output_limit,
        prices=profile.prices,
        supports_images=profile.sees_images,
        caches_prompts=spec.caches_prompts,
        temperature=None if profile.temperature is None else float(profile.temperature),
        effort=profile.effort,
        compacts=known is not None and known.compacts,
    )
    from_server = profile.key_source is KeySource.SERVER
    from_environment = getattr(settings, spec.url_variable) if spec.url_variable else ""
    return {
        "model": model,
        "api_key": server_key(spec) if from_server else profile.read_key(),
        "base_url": profile.base_url or from_environment,
        "guard": Guard(settings.ALLOW_PRIVATE_ADDRESSES) if profile.base_url else None,
    }
