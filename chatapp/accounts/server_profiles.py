"""Server profiles: an operator's, of which everybody has a copy without its key and address."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from chatapp.models import Preferences, Profile
from chatapp.models.accounts import give_copy
from chatapp.models.database import lock
from chatapp.providers import provider_specs


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
