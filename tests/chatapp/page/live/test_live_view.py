"""Whatever goes wrong in showing, what runs ends, and every page learns of it."""

import asyncio
from typing import override

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.template import Template
from django.test.signals import template_rendered

from chatapp.agent import events
from chatapp.models import Conversation
from chatapp.page.live import outgoing_frames
from chatapp.page.live.live_views import LiveView, views
from chatapp.page.live.outgoing_frames import Watchers
from chatapp.web import consumers
from tests.chatapp.page.live.heard import Heard, follow_turn
from tests.chatapp.sockets import PATIENCE, connect

pytestmark = pytest.mark.django_db(transaction=True)


class Failing(Heard):
    """Watchers to whom the first frame of one type can't be sent."""

    def __init__(self, type_: str) -> None:
        """Wait for that type."""
        super().__init__()
        self.type = type_
        self.failed = asyncio.Event()

    @override
    def send(self, frame: outgoing_frames.Frame) -> None:
        if frame["type"] == self.type and not self.failed.is_set():
            self.failed.set()
            raise IndexError("a defect")
        super().send(frame)


@pytest.mark.parametrize("type_", ["text.streamed", "article.upserted", "panel.changed"])
async def test_a_defect_in_showing_leaves_no_page_that_runs_for_ever(
    conversation: Conversation, type_: str
) -> None:
    """What comes after it is shown, the end too."""
    heard = Failing(type_)
    view = LiveView(conversation.pk, heard)
    told = await follow_turn(view)
    told.publish(events.TextStreamed("One "))
    told.publish(events.RetryScheduled("Overloaded.", 1, attempt=2, attempts=5))
    await heard.failed.wait()
    told.publish(events.TextStreamed("two"))
    told.publish(events.StreamDiscarded())
    told.publish(events.TurnEnded("Done."))
    await heard.until_idle()
    last = [frame for frame in heard.frames if frame["type"] == "status.changed"][-1]
    assert (last["text"], last["turn"]) == ("Done.", "")
    assert not view.turn_view.turn


class Unshowable(LiveView):
    """A view whose snapshot fails, as with a locked database."""

    @override
    async def snapshot(self, place: outgoing_frames.PageProgress) -> outgoing_frames.Frame:
        raise OperationalError("database is locked")


async def test_a_snapshot_that_fails_closes_the_socket(
    conversation: Conversation, alice: User
) -> None:
    """The page comes back for another, instead of waiting for ever."""
    shown = Unshowable(conversation.pk)
    views.views[conversation.pk] = {shown.reader: shown}
    socket = connect(conversation, alice)
    await socket.connect(PATIENCE)
    closed = await socket.receive_output(PATIENCE)
    assert (closed["type"], closed["code"]) == ("websocket.close", consumers.TRY_AGAIN_LATER)
    assert conversation.pk not in views.views


async def test_nothing_is_rendered_for_nobody(conversation: Conversation) -> None:
    """Until somebody comes, who gets it all."""
    view = LiveView(conversation.pk, Watchers())
    rendered: list[str] = []

    def note(template: Template, **_rest: object) -> None:
        rendered.append(str(template.name))

    template_rendered.connect(note)
    told = await follow_turn(view)
    told.publish(events.TextStreamed("Unseen words here."))
    told.publish(events.ToolUseStarted("call_1", "echo"))
    told.publish(events.RetryScheduled("Overloaded.", 1, attempt=2, attempts=5))
    told.publish(events.CondensingStarted("auto"))
    told.publish(events.StreamDiscarded())
    told.publish(events.TurnEnded("Done."))
    assert view._following
    await view._following
    assert rendered == []
    await view.snapshot(outgoing_frames.PageProgress("a", 0))
    assert "chat/_context_bar.html" in rendered
