"""Runs, for tests of what works on one."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import async_to_sync

import condense
from chatapp.agent.ports import Audience, CallOpening, Nobody, Purpose, ToolOutcome
from chatapp.conversations.context.sizes import Scale
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.models import Conversation, Profile, Turn, accounts, message_store
from chatapp.page.live.status_panel import ContextState, context_state
from chatapp.providers import request_bytes
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


def append_reply(run: TurnContext, text: str) -> condense.Message:
    """Store a reply of the run's turn."""
    said = condense.Message("assistant", (condense.TextBlock(text),))
    return async_to_sync(journal_of(run, Nobody()).append)(said)


def begin_tool(run: TurnContext, name: str) -> Callable[[str], None]:
    """Have a tool called in the run's turn; return what stores the text that it returned."""
    journal, call = journal_of(run, Nobody()), condense.ToolUseBlock("c", name, {})
    async_to_sync(journal.append)(condense.Message("assistant", (call,)))
    number = async_to_sync(journal.open_tool)(call)
    return lambda text: async_to_sync(journal.close_tool)(number, ToolOutcome(text))


def open_call(run: TurnContext, text: str) -> int:
    """Put a call on record whose request has one message."""
    asked = condense.Message("user", (condense.TextBlock(text),), seq=1)
    request = request_bytes.join(b'{"messages":[', [asked], [b'{"role":"user"}'], b"]}")
    opening = CallOpening(Purpose.CHAT, request=request)
    return async_to_sync(journal_of(run, Nobody()).open_call)(opening)


def bar_of(conversation: Conversation) -> ContextState | None:
    """Return the numbers of a conversation's context as it is now."""
    fresh = message_store.read_conversation(conversation.pk)
    return context_state(fresh, accounts.preferences_of(fresh.owner))


def named(profile: Profile | None) -> dict[str, Any]:
    """Return the columns by which a call names its profile."""
    assert profile
    return {"profile_name": profile.name, "provider": profile.provider, "model": profile.model}
