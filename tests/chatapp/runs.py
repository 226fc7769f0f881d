"""Runs, for tests of what works on one."""

from chatapp.accounts import accounts
from chatapp.agent.ports import Audience
from chatapp.context.sizes import Scale
from chatapp.context.turn_context import TurnContext
from chatapp.live.status_panel import ContextState, context_state
from chatapp.models import Conversation, Turn, message_store
from chatapp.storage.journal import ConversationJournal
from chatapp.storage.partial_replies import RetriedWrites
from chatapp.turns.running_turns import running_turns


def run_in(conversation: Conversation, turn: Turn | None = None) -> TurnContext:
    """Return a run in a conversation, as it is now; without a turn, in one of its own."""
    turn = turn or Turn.objects.create(conversation=conversation)
    fresh = Conversation.objects.select_related("profile", "owner").get(pk=conversation.pk)
    assert fresh.profile is not None
    preferences = accounts.preferences_of(fresh.owner)
    return TurnContext(
        conversation=fresh, profile=fresh.profile, preferences=preferences, turn=turn
    )


async def ended(conversation: Conversation) -> None:
    """Return when nothing runs in the conversation any more."""
    if task := running_turns.find(conversation.pk):
        await task.ended()


async def all_ended() -> None:
    """Return when nothing runs in this process any more."""
    for task in [*running_turns.turns.values()]:
        await task.ended()


def journal_of(run: TurnContext, audience: Audience, overhead: int = 0) -> ConversationJournal:
    """Return the journal of a run in which so many tokens go to system prompt and tools."""
    return ConversationJournal(run, Scale(overhead=overhead), RetriedWrites(audience))


def bar_of(conversation: Conversation) -> ContextState | None:
    """Return the numbers of a conversation's context as it is now."""
    fresh = message_store.read_conversation(conversation.pk)
    return context_state(fresh, accounts.preferences_of(fresh.owner))
