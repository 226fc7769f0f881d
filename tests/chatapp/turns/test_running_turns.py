"""The active conversations of a process, from its first visitor to its orderly stop."""

import uuid
from collections.abc import Callable
from typing import cast

import pytest
from django.db import DatabaseError
from pytest_django import Settings

from chatapp import errors
from chatapp.context.turn_context import TurnContext
from chatapp.models import Conversation, ModelCall
from chatapp.turns import follow_ups
from chatapp.turns.active_conversation import ActiveConversation
from chatapp.turns.active_conversations import ActiveConversations
from chatapp.turns.runner import TurnTask
from tests.chatapp.turns.test_storage_failures import broken

pytestmark = pytest.mark.django_db(transaction=True)


async def test_what_could_not_be_cleared_up_is_cleared_up_later(conversation: Conversation) -> None:
    """A page is shown meanwhile; nothing begins before."""
    call = await ModelCall.objects.acreate(conversation=conversation, purpose="title")
    process = ActiveConversations()
    async with broken("UPDATE ON chatapp_modelcall"):
        await process.watch(conversation.pk, None)
        with pytest.raises(DatabaseError):
            async with process.enter(conversation.pk):
                pass
    async with process.enter(conversation.pk):
        await call.arefresh_from_db()
    assert call.status == ModelCall.Status.INTERRUPTED


async def test_nothing_begins_while_the_server_stops() -> None:
    """What would be cut at once is refused; asking for the newest change opens no room."""
    conversations = ActiveConversations()
    await conversations.close()
    with pytest.raises(errors.Refused, match="being stopped"):
        async with conversations.enter(uuid.uuid4()):
            pass
    process = ActiveConversations()
    assert (process.newest(uuid.uuid4()), process.conversations) == (0, {})


class Resting(ActiveConversation):
    """One that remembers how often it was about to begin something."""

    begun = 0

    async def begin(self, store: Callable[[], TurnContext | None]) -> TurnContext | None:
        self.begun += 1
        return None


@pytest.mark.parametrize(("running", "closing", "begun"), [(0, 0, 1), (1, 0, 0), (0, 1, 0)])
async def test_a_rest_ends_in_nothing_where_something_runs_by_then_or_the_server_stops(
    settings: Settings, *, running: bool, closing: bool, begun: int
) -> None:
    """It looks again when its time is over."""
    settings.CONDENSE_IDLE_AFTER = 0
    active = Resting(uuid.uuid4(), conversations := ActiveConversations())
    conversations.closing = bool(closing)
    active.running = cast(TurnTask, object()) if running else None
    await follow_ups.condense_idle(active)
    assert active.begun == begun
