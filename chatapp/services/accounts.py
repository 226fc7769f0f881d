"""The owner, sign-in links, profiles and preferences."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from chatapp.models import Preferences, Profile, SignInToken
from chatapp.providers import catalog

OWNER_NAME = "owner"
SIGN_IN_LIFETIME = timedelta(hours=24)
_PROFILE_NAMES: dict[str, str] = {
    Profile.Provider.OFFLINE: "Offline",
    Profile.Provider.ANTHROPIC: "Claude",
}


@transaction.atomic
def prepare_owner() -> User:
    """Return the server's owner, made on first start with profiles and preferences."""
    users = get_user_model().objects
    owner = users.filter(is_superuser=True).order_by("pk").first()
    if owner is None:
        owner = users.create_superuser(OWNER_NAME)
    preferences_of(owner)
    return owner


@transaction.atomic
def preferences_of(user: Any) -> Preferences:
    """Return the user's preferences; made, with a default profile, when there are none."""
    preferences, _made = Preferences.objects.select_related("default_profile").get_or_create(
        owner=user
    )
    for provider in _missing_providers(user):
        preferences.default_profile = _make_profile(user, provider)
        preferences.save(update_fields=["default_profile"])
    return preferences


def _missing_providers(user: Any) -> list[str]:
    """Name what lacks a profile, the new default last: Offline at first, Anthropic with a key."""
    present = set(Profile.objects.filter(owner=user).values_list("provider", flat=True))
    missing: list[str] = [] if present else [Profile.Provider.OFFLINE]
    if settings.ANTHROPIC_API_KEY and Profile.Provider.ANTHROPIC not in present:
        missing.append(Profile.Provider.ANTHROPIC)
    return missing


def _make_profile(user: Any, provider: str) -> Profile:
    """Store a profile with the catalog's figures; it uses the server's own key, if any."""
    entry = catalog.default_for(provider)
    return Profile.objects.create(
        owner=user,
        name=_PROFILE_NAMES[provider],
        provider=provider,
        model=entry.model,
        **entry.figures,
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


def redeem_sign_in_token(*, token: str) -> User | None:
    """Return the token's user and use it up; None when it is unknown, used or expired."""
    found = SignInToken.objects.filter(digest=SignInToken.digest_of(token))
    if not found.usable().update(used_at=timezone.now()):
        return None
    return found.get().user
