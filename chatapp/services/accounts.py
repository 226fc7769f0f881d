"""The owner, sign-in links, profiles and preferences."""

import itertools
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import models, transaction
from django.utils import timezone

from chatapp.models import Preferences, Profile, SignInToken
from chatapp.models.accounts import server_key
from chatapp.models.prepared import prepared
from chatapp.providers import ProviderSpec, provider_specs

OWNER_NAME = "owner"
SIGN_IN_LIFETIME = timedelta(hours=24)


@transaction.atomic
def prepare_owner() -> User:
    """Return the server's owner, made on first start with profiles and preferences."""
    users = get_user_model().objects
    owner = users.filter(is_superuser=True).order_by("pk").first()
    if owner is None:
        owner = users.create_superuser(OWNER_NAME)
    preferences_of(owner)
    return owner


def preferences_of(user: User) -> Preferences:
    """Return the user's preferences; first profiles are made where they were not offered yet.

    A user who has seen it all is read without a transaction: also while nothing can be written.
    """
    stored = _stored_preferences(owner=user.pk)
    if not stored or _unoffered(stored[0]):
        return _offer_profiles(user)
    return stored[0]


@prepared(owner=models.IntegerField())
def _stored_preferences(owner: int) -> models.QuerySet[Preferences]:
    return Preferences.objects.select_related("default_profile").filter(owner=owner)


@transaction.atomic
def _offer_profiles(user: User) -> Preferences:
    """Make each provider's first profile, once, unless the user has one already."""
    preferences, _made = Preferences.objects.get_or_create(owner=user)
    for spec in _unoffered(preferences):
        preferences.offered_providers.append(spec.name)
        if user.profiles.filter(provider=spec.name).exists():
            continue
        profile = _make_profile(user, spec)
        default = preferences.default_profile
        if default is None or not default.spec.needs_key:
            preferences.default_profile = profile
    preferences.save(update_fields=["default_profile", "offered_providers"])
    return preferences


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


def _make_profile(user: User, spec: ProviderSpec) -> Profile:
    """Store a profile with the first model's figures; it uses the server's own key, if any."""
    model = spec.models[0]
    taken = {*user.profiles.values_list("name", flat=True)}
    names = (f"{spec.first_profile} {number}" for number in itertools.count(2))
    name = next(name for name in itertools.chain([spec.first_profile], names) if name not in taken)
    return Profile.objects.create(
        owner=user, name=name, provider=spec.name, model=model.id, **model.figures
    )


def create_sign_in_token(*, user: User) -> str:
    """Return a token that signs ``user`` in once, within a day; older ones end."""
    SignInToken.objects.filter(user=user).usable().delete()
    token = SignInToken.generate()
    SignInToken.objects.create(
        user=user,
        digest=SignInToken.digest_of(token),
        expires_at=timezone.now() + SIGN_IN_LIFETIME,
    )
    return token


def holder_of_sign_in_token(*, token: str) -> User | None:
    """Return whom the token would sign in; None when it is unknown, used or expired."""
    found = SignInToken.objects.filter(digest=SignInToken.digest_of(token)).usable()
    usable = found.select_related("user").first()
    return usable.user if usable else None


def redeem_sign_in_token(*, token: str) -> User | None:
    """Return whom the token signs in, and use it up; None as in ``holder_of_sign_in_token``."""
    holder = holder_of_sign_in_token(token=token)
    found = SignInToken.objects.filter(digest=SignInToken.digest_of(token)).usable()
    return holder if found.update(used_at=timezone.now()) else None
