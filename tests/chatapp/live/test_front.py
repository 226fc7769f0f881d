"""Pages and health hear of what runs through a port: it may be anywhere."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chatapp.live import outgoing_frames
from chatapp.models import Conversation
from chatapp.turns import actions
from tests.chatapp.sockets import open_page

pytestmark = pytest.mark.django_db(transaction=True)


class Elsewhere:
    """A front whose turns run, and whose news are kept, somewhere else."""

    closing = True

    async def watch(
        self, conversation_id: uuid.UUID, since: outgoing_frames.Place | None
    ) -> AsyncIterator[str]:
        return self._frames()

    async def _frames(self) -> AsyncIterator[str]:
        for frame in ({"type": "snapshot"}, outgoing_frames.transcript_changed(3)):
            yield outgoing_frames.encode(frame)[0]
        await asyncio.Event().wait()

    def newest(self, conversation_id: uuid.UUID) -> int:
        return 7


async def test_a_page_asks_no_more_than_the_port(
    conversation: Conversation, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames, the number of the last one, and whether turns begin come from whatever is there."""
    monkeypatch.setattr(actions, "front", Elsewhere())
    async with open_page(conversation, alice) as page:
        assert (await page.next())["revision"] == 3
        await page.send("ping")
        assert (await page.next())["upto"] == 7


def test_health_asks_the_port_whether_turns_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not ready where whatever is there takes none."""
    monkeypatch.setattr(actions, "front", Elsewhere())
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"The server is being stopped.")
