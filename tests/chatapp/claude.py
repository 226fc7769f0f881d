"""Conversations that the stand-in for Anthropic's API answers."""

from django.contrib.auth.models import User

from chatapp import services
from chatapp.models import Conversation, Profile
from tests.standin.server import Standin


def converse(owner: User, standin: Standin, **limits: int) -> Conversation:
    """Return a conversation that the stand-in answers, in a window of 200,000 unless told."""
    columns = {
        "context_window": 200_000,
        "max_output": 400,
        "price_input": 4,
        "price_cache_write": 5,
        **limits,
    }
    profile = Profile(
        owner=owner,
        name=f"Claude {Profile.objects.count()}",
        provider="anthropic",
        model="claude-opus-5",
        base_url=standin.url,
        **columns,
    )
    profile.set_key("sk-test")
    profile.save()
    return services.start_conversation(owner=owner, profile=profile)
