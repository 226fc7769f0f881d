"""Accounts: the owner, the profiles and preferences of users, and the provider of a profile."""

import itertools
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from chatapp.agent.ports import Model, Provider
from chatapp.models import Preferences, Profile, ServerSettings
from chatapp.models.account_deletions import people
from chatapp.models.database import lock, select, writing
from chatapp.models.profiles import KeySource, server_key
from chatapp.project.network import Guard
from chatapp.providers import create_provider, provider_specs
from chatapp.providers.resilient_provider import ResilientProvider
from chatapp.providers.specs import ProviderSpec

OWNER_NAME = "owner"
# Characters of a profile's name; a number may follow.
LONGEST_PROFILE_NAME = 70


@transaction.atomic
def prepare_owner() -> User:
    """Return the server's owner, made on first start with profiles and preferences."""
    # Users who can still sign in come first: they are the ones who can repair the server.
    operators = User.objects.filter(is_superuser=True).order_by("-is_active", "pk")
    owner = operators.first()
    if owner is None:
        # Another process may be starting for the first time as well.
        with suppress(IntegrityError), transaction.atomic():
            User.objects.create_superuser(OWNER_NAME)
        owner = operators.all()[0]
    preferences_of(owner)
    return owner


def preferences_of(user: User, stored: Preferences | None = None) -> Preferences:
    """Return the user's preferences; make first profiles for providers that are new to the user.

    ``stored`` are the preferences if they were just read. Nothing is written unless a provider is
    new, so that pages can be read on a full disk.
    """
    sql = "SELECT * FROM chatapp_preferences WHERE owner_id = %s"
    found = [stored] if stored else select(Preferences, sql, user.pk)
    if not found or _unoffered(found[0]):
        return _offer_profiles(user)
    return found[0]


@transaction.atomic
def _offer_profiles(user: User) -> Preferences:
    """Make each provider's first profile, once, unless the user has one already."""
    lock(User, user.pk)
    # New users begin with an operator's preferences, less the personal ones, or the built-in ones.
    operators = Preferences.objects.filter(owner__is_superuser=True)
    like = operators.filter(owner=ServerSettings.read().begin_with_id).first()
    columns = [one.name for one in Preferences._meta.concrete_fields]  # noqa: SLF001 - Django's documented API
    first = {name: getattr(like, name) for name in columns if like and name not in _OWN}
    preferences, is_new = Preferences.objects.get_or_create(owner=user, defaults=first)
    for spec in _unoffered(preferences):
        preferences.offered_providers.append(spec.name)
        if user.profiles.filter(provider=spec.name).exists():
            continue
        # With the first model's figures; it uses the server's own key, if any.
        model, name = spec.models[0], free_name(user, spec.first_profile)
        profile = Profile.objects.create(
            owner=user, name=name, provider=spec.name, model=model.id, **model.figures
        )
        default = preferences.default_profile
        if default is None or not default.spec.needs_key:
            preferences.default_profile = profile
    if is_new:
        shared = Profile.objects.select_for_update(no_key=True).filter(is_shared=True)
        for profile in shared.exclude(owner=user):
            give_copy(profile, preferences)
        if like and (default := like.default_profile):
            # The user's copy of the profile with which they begin, if any.
            copies = user.profiles.filter(origin=default.origin_id or default.pk)
            preferences.default_profile = copies.first() or preferences.default_profile
    preferences.save(update_fields=["default_profile", "offered_providers"])
    return preferences


# Fields that a new user's preferences never copy from an operator's.
_OWN = ("owner", "default_profile", "offered_providers", "allowance", "language", "about_me")


def give_copy(profile: Profile, preferences: Preferences) -> None:
    """Make a user's copy of a server profile, and their default in place of the sample."""
    # A server profile is an operator's; everybody has a copy without its key and address.
    name = free_name(preferences.owner, profile.name[:LONGEST_PROFILE_NAME])
    columns = {"owner": preferences.owner, "origin": profile, "name": name, **profile.copied}
    copy, _made = Profile.objects.get_or_create(
        owner=preferences.owner, origin=profile, defaults=columns
    )
    default = preferences.default_profile
    if default is None or not default.spec.needs_key:
        preferences.default_profile = copy


def shareable(operator: User) -> QuerySet[Profile]:
    """Return the profiles that an operator may share or unshare: their own and shared ones."""
    own = Q(owner=operator) | Q(is_shared=True)
    # Everybody has the sample already.
    keyed = [spec.name for spec in provider_specs().values() if spec.needs_key]
    found = Profile.objects.filter(own, origin=None, provider__in=keyed)
    return found.select_related("owner").order_by("name", "pk")


@transaction.atomic
def share(profile: Profile) -> None:
    """Give everybody else a copy of an operator's profile."""
    lock(Profile, profile.pk)
    profile.is_shared = True
    profile.save(update_fields=["is_shared"])
    others = Preferences.objects.exclude(owner=profile.owner_id)
    for preferences in others.select_related("owner", "default_profile"):
        give_copy(profile, preferences)
        preferences.save(update_fields=["default_profile"])


@transaction.atomic
def stop_sharing(profile: Profile) -> None:
    """Delete all copies; their users choose another profile before a conversation goes on."""
    lock(Profile, profile.pk)
    profile.is_shared = False
    profile.save(update_fields=["is_shared"])
    profile.copies.all().delete()


def _unoffered(preferences: Preferences) -> list[ProviderSpec]:
    """Return the providers that could answer this user now and never could before.

    Those that need no key come first, so that one with the server's key becomes the default.
    """
    ready = [
        spec
        for spec in provider_specs().values()
        if spec.name not in preferences.offered_providers
        and (server_key(spec) or not spec.needs_key)
    ]
    return sorted(ready, key=lambda spec: spec.needs_key)


def free_name(user: User, wanted: str) -> str:
    """Return a profile's name that the user has not given yet."""
    taken = {*user.profiles.values_list("name", flat=True)}
    names = itertools.chain([wanted], (f"{wanted} {number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def is_alone(user: User) -> bool:
    """Return True if a user is alone on a server that may call services of its machine."""
    others = people().exclude(pk=user.pk)
    return settings.ALLOW_PRIVATE_ADDRESSES and user.is_superuser and not others.exists()


def providers_in_use() -> set[str]:
    """Return the names of the providers that users' turns may call, as far as is known now."""
    with_server_key = {one.name for one in provider_specs().values() if server_key(one)}
    return with_server_key.union(Profile.objects.values_list("provider", flat=True).distinct())


def provider_for(profile: Profile, *, most: int | None = None) -> Provider:
    """Return the profile's provider; raise DecryptionFailed if its key can't be read.

    Its answers have at most ``most`` tokens if that is less than the profile's limit.
    """
    reached = reached_by(profile)
    if most is not None:
        model: Model = reached["model"]
        reached["model"] = replace(model, max_output=min(most, model.max_output))
    at = profile.reached
    keep = writing(at.keep_refused)
    return create_provider(profile.provider, **reached, refused=at.refused, keep=keep)


def provider_to_try(profile: Profile) -> ResilientProvider:
    """Return a provider that knows no earlier refusals and tries each call once."""
    return create_provider(profile.provider, **reached_by(profile), attempts=1)


def reached_by(profile: Profile) -> dict[str, Any]:
    """Return the arguments to build a profile's provider."""
    spec, reached = profile.spec, profile.reached
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
    from_server = reached.key_source is KeySource.SERVER
    from_environment = getattr(settings, spec.url_variable) if spec.url_variable else ""
    return {
        "model": model,
        "api_key": server_key(spec) if from_server else reached.read_key(),
        "base_url": spec.base_of(reached.base_url or from_environment),
        "guard": Guard(settings.ALLOW_PRIVATE_ADDRESSES) if reached.base_url else None,
    }
