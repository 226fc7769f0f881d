"""The rooms of one process: what a crash left is cleared up, and whoever asks opens none."""

import uuid
from typing import override

import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError

from chatapp.models import Conversation, ModelCall
from chatapp.turns.active_conversation import Room
from chatapp.turns.active_conversations import Hub, hub
from chatapp.turns.ports import Work
from tests.chatapp.turns.test_storage_failures import broken

pytestmark = pytest.mark.django_db(transaction=True)


async def test_what_could_not_be_cleared_up_is_cleared_up_later(conversation: Conversation) -> None:
    """A page is shown meanwhile; nothing begins before."""
    call = await ModelCall.objects.acreate(conversation=conversation, purpose="title")
    house = Hub()
    async with broken("UPDATE ON chatapp_modelcall"):
        await house.watch(conversation.pk, None)
        with pytest.raises(DatabaseError):
            async with house.enter(conversation.pk):
                pass
    async with house.enter(conversation.pk):
        await call.arefresh_from_db()
    assert call.status == ModelCall.Status.INTERRUPTED


async def test_whoever_asks_for_the_newest_change_opens_no_room() -> None:
    """Nobody would close it."""
    house = Hub()
    assert (house.newest(uuid.uuid4()), house.rooms) == (0, {})


class Lobby(Room):
    """A room beside which another one opens while somebody looks into it."""

    @property
    @override
    def job(self) -> Work | None:
        hub.rooms.setdefault(uuid.uuid4(), Room(uuid.uuid4(), hub))
        return None

    @job.setter
    def job(self, work: Work | None) -> None:
        pass


async def test_rooms_are_counted_while_others_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers for whoever watches over the server are read in a thread of their own."""
    monkeypatch.setattr(hub, "rooms", {})
    hub.rooms[uuid.uuid4()] = Lobby(uuid.uuid4(), hub)
    load = await sync_to_async(hub.load, thread_sensitive=False)()
    assert (load.turns, load.watchers) == (0, 0)
