"""New profiles: connect a model, and look up the values that the user left empty."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db import transaction

import condense
from chatapp.models import Profile, accounts
from chatapp.models.database import lock
from chatapp.models.errors import DecryptionFailed
from chatapp.project.sentences import translate as _
from chatapp.providers.model_servers import list_models, probe
from chatapp.providers.specs import SAFE_OUTPUT, SAFE_WINDOW, ListedModel, short_name

LEAST_WINDOW = 1_000
# Seconds for a list of models that is only nice to have.
MODEL_LIST_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class ConnectionResult:
    """The result of connecting a model: its profile, or a problem, and models to choose from."""

    profile: Profile | None = None
    problem: str = ""
    asks_model: bool = False
    models: Sequence[ListedModel] = ()


def connect(profile: Profile) -> ConnectionResult:
    """Store a profile if its server answers, with the model it names or else the usual one."""
    # A key is tested by a short request; without one, a list of models is enough.
    report = asyncio.run(list_models(accounts.provider_to_try(profile)))
    if report.key is False and not profile.has_key:
        return ConnectionResult(problem=_("This address needs a key."))
    if report.key is False:
        return ConnectionResult(
            problem=_("The provider did not accept this key. Check it and try again.")
        )
    if not report.address:
        return ConnectionResult(problem=report.failure)
    usual = _usual_model(profile, report.models)
    choice = ConnectionResult(asks_model=not usual, models=() if usual else report.models)
    if not profile.model or (report.models and not report.find_model(profile.model)):
        # A model that was chosen at another address is not one of this address.
        profile.model = usual
    if not profile.model:
        return choice
    _complete(profile, report.find_model(profile.model))
    if profile.has_key or not report.listing:
        tried = asyncio.run(probe(accounts.provider_to_try(profile)))
        if tried.failure:
            return replace(choice, problem=tried.failure)
        profile.text_only = tried.images is False
    known = profile.spec.find_model(profile.model)
    name = known.name if known else short_name(profile.model)
    profile.name = accounts.free_name(profile.owner, name[: accounts.LONGEST_PROFILE_NAME])
    store_profile(profile)
    return ConnectionResult(profile)


@transaction.atomic
def store_profile(profile: Profile) -> None:
    """Store a profile; the first one besides the built-in sample becomes the default."""
    lock(User, profile.owner_id)
    others = profile.owner.profiles.exclude(pk=profile.pk)
    is_first = not profile.pk and not any(one.spec.needs_key for one in others)
    profile.save()
    if is_first:
        preferences = accounts.preferences_of(profile.owner)
        preferences.default_profile = profile
        preferences.save(update_fields=["default_profile"])


def set_window(profile: Profile, window: int) -> None:
    """Store the window that a provider named, and lower a reply limit that fills it."""
    profile.context_window = window
    if profile.max_output >= window:
        profile.max_output = condense.output_limit(window)
    store_profile(profile)


def look_up_limits(profile: Profile) -> None:
    """Fill in limits that were left empty; ask the server of an unknown model."""
    if profile.context_window and profile.max_output:
        return
    listed = None
    profile.context_window = profile.context_window or 0
    profile.max_output = profile.max_output or 0
    if profile.spec.find_model(profile.model) is None:
        with suppress(TimeoutError, DecryptionFailed):
            listing = list_models(accounts.provider_to_try(profile))
            listed = asyncio.run(asyncio.wait_for(listing, MODEL_LIST_TIMEOUT)).find_model(
                profile.model
            )
    _complete(profile, listed)


def _complete(profile: Profile, listed: ListedModel | None) -> None:
    """Fill in missing figures: the server's, else the known ones, else a safe guess."""
    for model in (listed, profile.spec.find_model(profile.model)):
        for name, value in (model.figures if model else {}).items():
            if not getattr(profile, name):
                setattr(profile, name, value)
    if not profile.context_window:
        profile.context_window = SAFE_WINDOW
        profile.max_output = profile.max_output or SAFE_OUTPUT
    profile.context_window = window = max(profile.context_window, LEAST_WINDOW)
    # Some servers give the window for both, but a reply may not fill it.
    if not 0 < profile.max_output < window:
        profile.max_output = condense.output_limit(window)


def _usual_model(profile: Profile, listed: Sequence[ListedModel]) -> str:
    """Return the model to begin with: the provider's own newest, or the only one at an address."""
    names = [one.id for one in listed]
    known = [] if profile.base_url else [one.id for one in profile.spec.models]
    usual = [one for one in known if one in names or not names]
    return usual[0] if usual else names[0] if len(names) == 1 else ""
