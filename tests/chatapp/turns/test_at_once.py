"""What two do at the same moment comes to what one after the other would have come to."""

import asyncio
import contextlib
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, override

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.models import Model
from django.db.models.signals import ModelSignal, post_init, post_save

from chatapp.conversations import conversations
from chatapp.conversations.context.condense_requests import CondenseRequest
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.models import Conversation, ModelCall, QueuedMessage, Turn, errors
from chatapp.models.database import reading
from chatapp.models.pending_messages import list_queued
from chatapp.page.live import incoming_frames
from chatapp.page.live.live_views import views
from chatapp.turns import actions, lifecycle
from chatapp.turns.runner import TurnTask
from chatapp.turns.running_turns import running_turns
from tests.chatapp.runs import all_ended, ended
from tests.chatapp.sockets import open_page
from tests.chatapp.turns.held import Holder
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def holder(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Holder]:
    """What holds turns, and ends them with the test."""
    holder = Holder()
    monkeypatch.setattr(running_turns, "task_of", holder.start)
    yield holder
    for held in holder.held:
        held.end()
        await held.ended()


async def say(conversation: Conversation, text: str, *, queued: bool = False) -> None:
    """Send a message."""
    command = incoming_frames.SendMessage(text, uuid.uuid4(), queued=queued)
    await actions.send_message(conversation, command)


@contextlib.contextmanager
def meanwhile(signal: ModelSignal, of: type[Model], do: Callable[[], None]) -> Iterator[None]:
    """Have the event loop ``do`` something, and go on, when the first of these is stored or made.

    That is in a thread, which waits for it.
    """
    loop, done = asyncio.get_running_loop(), threading.Event()

    async def go_on() -> None:
        do()
        for _ in range(5):
            await reading(list_queued)(conversation=uuid.uuid4())

    def hold(**_signal: Any) -> None:
        if not done.is_set():
            done.set()
            asyncio.run_coroutine_threadsafe(go_on(), loop).result()

    signal.connect(hold, sender=of)
    try:
        yield
    finally:
        signal.disconnect(hold, sender=of)


class Lingering(TurnTask):
    """A turn with work left after its end is stored; ``was_cut`` says if somebody stopped that."""

    was_cut = False

    def __init__(self, run: TurnContext, on_end: Callable[[], object]) -> None:
        self.is_answered, self.goes_on = asyncio.Event(), asyncio.Event()
        super().__init__(run, on_end)

    @override
    async def _do(self) -> str | None:
        said = await super()._do()
        self.is_answered.set()
        try:
            await self.goes_on.wait()
        except asyncio.CancelledError:
            self.was_cut = True
        return said


async def test_what_is_left_after_a_stored_end_is_not_stopped_by_a_look(
    conversation: Conversation, anthropic_standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is over, and this process still has its draft to begin."""
    anthropic_standin.reply("It is noon.")
    monkeypatch.setattr(running_turns, "task_of", Lingering)
    await say(conversation, "What time is it?")
    (task,) = running_turns.turns.values()
    assert isinstance(task, Lingering)
    await task.is_answered.wait()
    assert (await Turn.objects.aget()).status == Turn.Status.SUCCEEDED
    await running_turns.look_after()
    task.goes_on.set()
    await task.ended()
    assert not task.was_cut


async def test_a_message_that_comes_while_the_turn_ends_is_answered(
    conversation: Conversation, holder: Holder
) -> None:
    """What is on record as over is in nobody's way, although its process is still busy with it."""
    await say(conversation, "One.")
    first = await holder.until_begun(1)
    over = {"turn": first.run.turn, "status": Turn.Status.SUCCEEDED}
    await sync_to_async(lifecycle.finish_turn)(**over)
    await say(conversation, "Two.")
    assert len(holder.held) == 2


async def test_a_message_that_is_queued_while_the_turn_ends_is_sent(
    conversation: Conversation, holder: Holder
) -> None:
    """Nobody else would send it: it would wait although nothing runs."""
    await say(conversation, "First")
    turn = await holder.until_begun(1)
    with meanwhile(post_save, QueuedMessage, turn.end):
        await say(conversation, "Second", queued=True)
    second = await holder.until_begun(2)
    assert second.run.question
    assert second.run.question.text == "Second"


async def test_what_waits_is_sent_where_the_condensation_before_it_is_refused(
    conversation: Conversation, holder: Holder
) -> None:
    """What was asked for during the turn may have nothing to do once that is over."""
    await say(conversation, "First")
    await say(conversation, "Second", queued=True)
    turn = await holder.until_begun(1)
    turn.condense_soon(CondenseRequest(uuid.uuid4()))
    turn.end()
    second = await holder.until_begun(2)
    assert second.run.question
    assert second.run.question.text == "Second"


async def test_what_is_stored_runs_though_who_sent_it_has_gone(conversation: Conversation) -> None:
    """A program may hang up as soon as its message is on its way."""
    await running_turns.clear_up()
    sending = asyncio.ensure_future(say(conversation, "First"))
    with meanwhile(post_init, Turn, sending.cancel), pytest.raises(asyncio.CancelledError):
        await sending
    await ended(conversation)
    assert (await Turn.objects.aget()).status == Turn.Status.SUCCEEDED


async def test_what_begins_while_the_server_stops_is_ended_with_the_rest(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stops it waits for all of it, and nothing is left on record as running."""
    await running_turns.clear_up()
    monkeypatch.setattr(running_turns, "closing", False)
    stops: list[asyncio.Future[None]] = []

    def stop() -> None:
        stops.append(asyncio.ensure_future(running_turns.close()))

    with meanwhile(post_init, Turn, stop):
        await say(conversation, "First")
    await stops[0]
    assert running_turns.turns == {}
    assert (await Turn.objects.aget()).is_over


async def test_who_hears_the_end_may_send_the_next_message(
    conversation: Conversation, alice: User
) -> None:
    """No turn is in its way, although pages are still told of the end."""
    async with open_page(conversation, alice):
        for text in ("First", "Second"):
            command = incoming_frames.SendMessage(text, uuid.uuid4())
            async for _event in await actions.send_and_hear(conversation, command):
                pass
    assert await Turn.objects.acount() == 2


async def test_who_came_first_of_a_crowd_is_answered_first(
    conversation: Conversation, alice: User
) -> None:
    """The first model is asked before the last message is stored: nobody waits for everybody."""
    profile = conversation.profile
    start = sync_to_async(conversations.start_conversation)
    crowd = [await start(owner=alice, profile=profile) for _ in range(20)]
    await asyncio.gather(*(say(one, "What time is it?") for one in crowd))
    await all_ended()
    asked = await ModelCall.objects.filter(purpose="chat").aearliest("created_at")
    assert (await Turn.objects.alatest("started_at")).started_at > asked.created_at


async def test_a_view_is_closed_whichever_way_its_last_page_goes(
    conversation: Conversation,
) -> None:
    """Also one that goes while it is sent something."""
    watching = await actions.watch(conversation, None)
    await anext(watching)
    assert conversation.pk in views.views
    await watching.aclose()
    assert conversation.pk not in views.views


async def test_what_is_refused_is_not_waited_for(conversation: Conversation) -> None:
    """A stop of the server would do so, for what it takes to be on its way."""
    await running_turns.clear_up()
    # What was about to begin as the event loop of another test ended never did.
    before = {*running_turns._expected}
    command = incoming_frames.SendMessage("Hello", uuid.uuid4(), attachments=(uuid.uuid4(),))
    with pytest.raises(errors.Refused):
        await actions.send_message(conversation, command)
    assert (running_turns.turns, running_turns._expected) == ({}, before)
