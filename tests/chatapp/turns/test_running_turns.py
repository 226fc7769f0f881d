"""The turns of a process, from its first visitor to its orderly stop."""

import uuid

import pytest
from django.db import DatabaseError

from chatapp.models import Conversation, ModelCall, errors
from chatapp.page.live.live_views import LiveViews
from chatapp.turns.running_turns import RunningTurns
from tests.chatapp.storage_faults import broken

pytestmark = pytest.mark.django_db(transaction=True)


async def test_what_could_not_be_cleared_up_is_cleared_up_later(conversation: Conversation) -> None:
    """A page is shown meanwhile; nothing begins before."""
    call = await ModelCall.objects.acreate(conversation=conversation, purpose="title")
    process = RunningTurns()
    async with broken("UPDATE ON chatapp_modelcall"):
        await process.try_to_clear_up()
        with pytest.raises(DatabaseError):
            async with process.beginning():
                pass
    async with process.beginning():
        await call.arefresh_from_db()
    assert call.status == ModelCall.Status.INTERRUPTED


async def test_nothing_begins_while_the_server_stops() -> None:
    """What would be cut at once is refused; asking for the newest change opens no view."""
    process = RunningTurns()
    await process.close()
    with pytest.raises(errors.Refused, match="being stopped"):
        async with process.beginning():
            pass
    views = LiveViews()
    assert (views.newest(uuid.uuid4()), views.views) == (0, {})
