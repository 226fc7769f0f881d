"""What two do at the same moment comes to what one after the other would have come to."""

import asyncio
import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.models import Model
from django.db.models.signals import ModelSignal, post_init, post_save

from chatapp import errors
from chatapp.context.condense_requests import CondenseRequest
from chatapp.context.turn_context import TurnContext
from chatapp.live import incoming_frames
from chatapp.live.live_view import LiveView
from chatapp.models import Conversation, QueuedMessage, Turn
from chatapp.models.database import reading
from chatapp.models.pending_messages import list_queued
from chatapp.turns import actions, lifecycle
from chatapp.turns.active_conversations import ActiveConversations, registry
from tests.chatapp.sockets import open_page

pytestmark = pytest.mark.django_db(transaction=True)


class Held:
    """A turn that runs until a test ends it."""

    def __init__(self, run: TurnContext, on_end: Callable[[bool], None]) -> None:
        self.run = run
        self.on_end = on_end
        self._over = asyncio.Event()

    def stop(self) -> None:
        """Leave it to the test."""

    def leave(self, reason: str) -> None:
        """Leave it to the test."""

    def wake(self) -> None:
        """Wait for nobody."""

    def cancel_condensing(self) -> None:
        """Condense nothing."""

    def condense_soon(self, wish: CondenseRequest) -> None:
        self.run.wishes.ask(wish)

    async def ended(self) -> None:
        await self._over.wait()

    def end(self) -> None:
        """Say that nothing of it runs any more."""
        self._over.set()
        self.on_end(True)


class Runner:
    """Holds turns: whatever begins goes on until a test ends it."""

    def __init__(self) -> None:
        self.held: list[Held] = []
        self._news = asyncio.Condition()

    def start(self, run: TurnContext, announcer: LiveView, on_end: Callable[[bool], None]) -> Held:
        self.held.append(Held(run, on_end))
        return self.held[-1]

    async def finish(self) -> Held:
        """Put on record that the last one is over, which nobody has been told yet."""
        last = self.held[-1]
        status = Turn.Status.SUCCEEDED
        await sync_to_async(lifecycle.finish_turn)(turn=last.run.turn, status=status)
        return last


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """What holds turns in the place of what runs them."""
    runner = Runner()
    monkeypatch.setattr(registry, "runner", runner.start)
    yield runner
    # What a test that failed left running would be waited for in the next one.
    registry.conversations.clear()


async def say(conversation: Conversation, text: str, *, queued: bool = False) -> None:
    """Send a message."""
    command = incoming_frames.SendMessage(text, uuid.uuid4(), queued=queued)
    await actions.send_message(conversation, command)


async def until_settled(conversation: Conversation) -> None:
    """Wait until all that was to follow has begun or was refused."""
    while (active := registry.conversations.get(conversation.pk)) and not active.running:
        await reading(list_queued)(conversation=conversation.pk)


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


async def test_a_message_that_comes_while_the_turn_ends_is_answered(
    conversation: Conversation, runner: Runner
) -> None:
    """What still ran when it was looked at may run no more once that is known."""
    await say(conversation, "One.")
    first = await runner.finish()

    async def end() -> None:
        first.end()

    await asyncio.gather(say(conversation, "Two."), end())
    assert len(runner.held) == 2
    (await runner.finish()).end()


async def test_a_message_that_is_queued_while_the_turn_ends_is_sent(
    conversation: Conversation, runner: Runner
) -> None:
    """Nobody else would send it: it would wait although nothing runs."""
    await say(conversation, "First")
    turn = await runner.finish()
    with meanwhile(post_save, QueuedMessage, turn.end):
        await say(conversation, "Second", queued=True)
    await until_settled(conversation)
    assert len(runner.held) == 2
    (await runner.finish()).end()


async def test_what_waits_is_sent_where_the_condensation_before_it_is_refused(
    conversation: Conversation, runner: Runner
) -> None:
    """What was asked for during the turn may have nothing to do once that is over."""
    await say(conversation, "First")
    await say(conversation, "Second", queued=True)
    turn = await runner.finish()
    turn.condense_soon(CondenseRequest(uuid.uuid4()))
    turn.end()
    await until_settled(conversation)
    assert len(runner.held) == 2
    (await runner.finish()).end()


async def test_what_is_stored_runs_though_who_sent_it_has_gone(conversation: Conversation) -> None:
    """A program may hang up as soon as its message is on its way."""
    await registry.clear_up()
    sending = asyncio.ensure_future(say(conversation, "First"))
    with meanwhile(post_init, Turn, sending.cancel), pytest.raises(asyncio.CancelledError):
        await sending
    for running in registry.running_turns:
        await running.ended()
    assert (await Turn.objects.aget()).status == Turn.Status.SUCCEEDED


async def test_what_begins_while_the_server_stops_is_ended_with_the_rest(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stops it waits for all of it, and nothing is left on record as running."""
    stopping = ActiveConversations()
    await stopping.clear_up()
    monkeypatch.setattr(actions, "registry", stopping)
    await asyncio.gather(say(conversation, "First"), stopping.close())
    assert stopping.running_turns == []
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


async def test_a_room_is_closed_whichever_way_its_last_page_goes(
    conversation: Conversation,
) -> None:
    """Also one that goes while it is sent something; nothing stays open for what was refused."""
    watching = await registry.watch(conversation.pk, None)
    await anext(watching)
    assert conversation.pk in registry.conversations
    await watching.aclose()
    assert conversation.pk not in registry.conversations
    command = incoming_frames.SendMessage("Hello", uuid.uuid4(), attachments=(uuid.uuid4(),))
    with pytest.raises(errors.Refused):
        await actions.send_message(conversation, command)
    assert conversation.pk not in registry.conversations
