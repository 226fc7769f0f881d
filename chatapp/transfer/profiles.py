"""Profiles for imported conversations: the default, a larger one, or one made for it."""

from django.contrib.auth.models import User

from chatapp.accounts import accounts
from chatapp.context import sizes, turn_context
from chatapp.context.turn_context import system_of
from chatapp.models import Conversation, Profile
from chatapp.providers import keyless_spec
from chatapp.toolbox import toolbox

# Without a vendor behind it, a window may be as large as any recorded session.
ROOMY_WINDOW = 2_000_000


def find_profile(conversation: Conversation, tokens: int) -> Profile:
    """Return the profile that answers what the model sees ``tokens`` of.

    The user's default profile does if all of it fits there, otherwise another that is large enough;
    where there is none, a profile without a key and with a large window is made.
    """
    owner = conversation.owner
    preferences = accounts.preferences_of(owner)
    default = preferences.default_profile
    profiles = [default] if default else []
    profiles += Profile.objects.filter(owner=owner).order_by("context_window")
    for profile in profiles:
        tools = toolbox.offered(conversation, profile)
        system = system_of(conversation, profile)
        overhead = sizes.overhead_for(profile.provider, tools, system).total
        if not turn_context.budget_for(profile, preferences).exceeds(tokens + overhead):
            return profile
    return _make_roomy_profile(owner)


def _make_roomy_profile(owner: User) -> Profile:
    spec = keyless_spec()
    profile, _made = Profile.objects.get_or_create(
        owner=owner,
        name=f"{spec.first_profile}, large window",
        defaults={
            "provider": spec.name,
            "model": spec.models[0].id,
            "context_window": ROOMY_WINDOW,
            "max_output": 2_000,
        },
    )
    return profile
