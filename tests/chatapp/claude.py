"""Conversations that the stand-in answers, through whichever vendor's door."""

from django.contrib.auth.models import User

from chatapp.conversations import conversations
from chatapp.models import Conversation, Profile
from tests.standin.server import Standin


def converse(owner: User, standin: Standin, **limits: int) -> Conversation:
    """Return a conversation that the stand-in answers, in a window of 200,000 unless told."""
    profile = answered_by(owner, "anthropic", "claude-opus-5", standin.url, **limits)
    return conversations.start_conversation(owner=owner, profile=profile)


def answered_by(owner: User, provider: str, model: str, url: str, **limits: int) -> Profile:
    """Return a profile of the owner's whose model is at this address of the stand-in."""
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
        provider=provider,
        model=model,
        base_url=url,
        **columns,
    )
    profile.set_key("sk-test")
    profile.save()
    if provider == "openai":
        # The stand-in refuses the field in which its model thinks: no test but its own asks again.
        profile.keep_refused({"reasoning": "none"})
    return profile
