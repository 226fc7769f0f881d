"""Runs, for tests of what works on one."""

from chatapp import services
from chatapp.context.runs import Run
from chatapp.live.context_bar import ContextState, context_state
from chatapp.models import Conversation, Turn, store


def run_in(conversation: Conversation, turn: Turn | None = None) -> Run:
    """Return a run in a conversation, as it is now; without a turn, in one of its own."""
    turn = turn or Turn.objects.create(conversation=conversation)
    fresh = Conversation.objects.select_related("profile", "owner").get(pk=conversation.pk)
    assert fresh.profile is not None
    preferences = services.preferences_of(fresh.owner)
    return Run(conversation=fresh, profile=fresh.profile, preferences=preferences, turn=turn)


def bar_of(conversation: Conversation) -> ContextState | None:
    """Return the numbers of a conversation's context as it is now."""
    fresh = store.read_conversation(conversation.pk)
    return context_state(fresh, services.preferences_of(fresh.owner))
