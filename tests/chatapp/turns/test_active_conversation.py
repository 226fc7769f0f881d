"""The rooms of a process, from its first visitor to its orderly stop."""

import uuid
from collections.abc import Callable
from typing import cast

import pytest
from pytest_django import Settings

from chatapp import errors
from chatapp.context.turn_context import TurnContext
from chatapp.turns import follow_ups
from chatapp.turns.active_conversation import ActiveConversation
from chatapp.turns.active_conversations import ActiveConversations
from chatapp.turns.ports import RunningTurn


async def test_nothing_begins_while_the_server_stops() -> None:
    """What would be cut at once is refused; the page keeps its text for the next start."""
    conversations = ActiveConversations()
    await conversations.close()
    with pytest.raises(errors.Refused, match="being stopped"):
        async with conversations.enter(uuid.uuid4()):
            pass


class Resting(ActiveConversation):
    """A room that remembers how often it was about to begin something."""

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
    room = Resting(uuid.uuid4(), conversations := ActiveConversations())
    conversations.closing = bool(closing)
    room.running = cast(RunningTurn, object()) if running else None
    await follow_ups.condense_idle(room)
    assert room.begun == begun
