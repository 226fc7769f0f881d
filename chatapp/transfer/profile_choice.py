"""The profile that answers an imported conversation: all of what the model sees fits into it."""

from django.db.models import Sum

from chatapp.accounts import accounts
from chatapp.context import sizes
from chatapp.context.turn_context import budget_for, system_of
from chatapp.models import Conversation, Profile
from chatapp.providers import keyless_spec

# Without a vendor behind it, a window may be as large as any recorded session.
ROOMY_WINDOW = 2_000_000


def choose_profile(conversation: Conversation) -> None:
    """Have a profile answer: the default one, the smallest that is large enough, or one made so."""
    owner = conversation.owner
    seen = conversation.messages.effective().aggregate(sum=Sum("tokens", default=0))["sum"]
    preferences = accounts.preferences_of(owner)
    default = preferences.default_profile
    for profile in filter(None, (default, *owner.profiles.order_by("context_window"))):
        system = system_of(conversation, profile)
        overhead = sum(sizes.overhead_of(conversation, profile, system))
        if seen + overhead <= budget_for(profile, preferences).allowed:
            break
    else:
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
    conversation.profile = profile
    conversation.save(update_fields=["profile"])
