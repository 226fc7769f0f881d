"""A process says that its turns live, and notices those that are not its own any more."""

import asyncio
import uuid
from types import SimpleNamespace
from typing import Any, override

import pytest
from asgiref.sync import sync_to_async

from chatapp.agent.errors import TurnEnded
from chatapp.models import Conversation, Message, ModelCall, Turn
from chatapp.turns import lifecycle
from chatapp.turns.active_conversations import ActiveConversations
from chatapp.turns.runner import TurnTask
from tests.chatapp.observers import long_watch
from tests.chatapp.scripted_turns import ask
from tests.chatapp.sockets import PATIENCE, Page
from tests.chatapp.turns.test_interruptions import elsewhere
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


class Heard(ActiveConversations):
    """A process that works on turns, and what its heartbeat has told."""

    interval = 0.0

    def __init__(self, *turns: Turn) -> None:
        super().__init__()
        self.own: Any = [SimpleNamespace(run=SimpleNamespace(turn=turn)) for turn in turns]
        self.lost: asyncio.Queue[uuid.UUID] = asyncio.Queue()
        self.closed: asyncio.Queue[uuid.UUID] = asyncio.Queue()
        self.looked = asyncio.Event()

    @property
    @override
    def running_turns(self) -> list[TurnTask]:
        return self.own

    @override
    def let_go(self, turn_id: uuid.UUID) -> None:
        self.lost.put_nowait(turn_id)

    @override
    def show_change(self, conversation_id: uuid.UUID) -> None:
        self.closed.put_nowait(conversation_id)

    @override
    async def clear_up(self) -> None:
        pass

    @override
    async def take_over(self) -> None:
        self.looked.set()


class Stumbling(Heard):
    """One that makes an error the first time."""

    fails = True

    @property
    @override
    def running_turns(self) -> list[TurnTask]:
        if self.fails:
            self.fails = False
            raise ZeroDivisionError
        return self.own


async def test_what_another_process_left_is_ended_while_this_one_serves(
    conversation: Conversation,
) -> None:
    """Also where nobody visits."""
    turn = await sync_to_async(lambda: elsewhere(ask(conversation)))()
    heard = Heard()
    heard.observer = await sync_to_async(long_watch)()
    heard.start_heartbeat()
    assert await heard.closed.get() == conversation.pk
    heard.stop_heartbeat()
    await turn.arefresh_from_db()
    assert turn.status == Turn.Status.INTERRUPTED


async def test_an_error_of_its_own_ends_no_pulse(conversation: Conversation) -> None:
    """Whoever is silent is taken for gone, and what it works on is ended."""
    turn = await sync_to_async(ask)(conversation)
    heard = Stumbling(turn)
    heard.start_heartbeat()
    await sync_to_async(lifecycle.finish_turn)(turn=turn, status=Turn.Status.INTERRUPTED)
    async with asyncio.timeout(PATIENCE):
        assert await heard.lost.get() == turn.pk
    heard.stop_heartbeat()


async def test_a_process_that_was_taken_for_dead_stores_nothing_more(
    anthropic_standin: Standin, page: Page
) -> None:
    """Its turn was ended with what was stored by then; the rest of the answer is let go."""
    gate = Gate()
    anthropic_standin.then(Reply("One two three four five six.", gate=gate))
    await page.begin("Count.")
    call = await ModelCall.objects.aget()
    while not call.draft:
        await call.arefresh_from_db()
    turn = await Turn.objects.aget()
    await sync_to_async(lifecycle.finish_turn)(
        turn=turn, status=Turn.Status.INTERRUPTED, error="It was taken for dead."
    )
    gate.open()
    await page.until_idle()
    assert await Message.objects.filter(role="assistant").acount() == 1
    await turn.arefresh_from_db()
    assert (turn.status, turn.error) == ("interrupted", "It was taken for dead.")
    assert (await ModelCall.objects.aget()).status == "interrupted"


async def test_a_turn_that_was_ended_elsewhere_waits_for_nobody(conversation: Conversation) -> None:
    """Or it would be open again, with a question that nobody's answer has go on."""
    turn = await sync_to_async(ask)(conversation)
    await sync_to_async(lifecycle.finish_turn)(turn=turn, status=Turn.Status.INTERRUPTED)
    with pytest.raises(TurnEnded):
        await sync_to_async(turn.wait)()
    await turn.arefresh_from_db()
    assert (turn.status, turn.is_over) == ("interrupted", True)
