"""A process says that its turns live, and notices those that are not its own any more."""

import asyncio
import time
from typing import Any, override

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chatapp.agent.errors import TurnEndedElsewhere
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.conversations.conversations import start_conversation
from chatapp.models import Conversation, Message, ModelCall, Turn
from chatapp.page.live import hints
from chatapp.page.live.channel import channel
from chatapp.project.telemetry import registry
from chatapp.turns import crash_recovery, lifecycle
from chatapp.turns.running_turns import RECOVER_EVERY, RunningTurns
from tests.chatapp.runs import run_in
from tests.chatapp.scripted_turns import ask, elsewhere
from tests.chatapp.sockets import PATIENCE, Page
from tests.chatapp.turns.held import Held
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


class Process(RunningTurns):
    """A process that holds its turns."""

    def __init__(self) -> None:
        super().__init__()
        self.task_of = Held
        self.cleared_up = True


class Stumbling(Process):
    """One that makes an error the first time that it looks after turns."""

    stumbled = False

    @override
    async def look_after(self) -> None:
        if not self.stumbled:
            self.stumbled = True
            raise ZeroDivisionError
        await super().look_after()


async def test_what_another_process_left_is_ended_while_this_one_serves(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nobody visits."""
    turn = await sync_to_async(lambda: elsewhere(ask(conversation)))()
    told: asyncio.Queue[hints.Hint] = asyncio.Queue()
    monkeypatch.setattr(channel, "listeners", [told.put_nowait])
    channel.start()
    process = Process()
    process.loop = asyncio.get_running_loop()
    process.beat(False)
    await process.looked()
    await turn.arefresh_from_db()
    assert not turn.is_over
    process.beat(True)
    assert await told.get() == hints.ConversationChanged(conversation.pk)
    await turn.arefresh_from_db()
    assert turn.status == Turn.Status.INTERRUPTED


async def test_a_turn_that_cannot_be_closed_keeps_no_other_one_open(
    conversation: Conversation, alice: User
) -> None:
    """It is tried again with each sign of life, though nobody else is gone by then."""

    def leave() -> tuple[Turn, Turn, ModelCall]:
        other = elsewhere(ask(start_conversation(owner=alice)))
        turn = elsewhere(ask(conversation))
        damaged = ModelCall.objects.create(
            conversation=conversation, turn=turn, purpose="chat", usage_measured=False, draft="7"
        )
        return turn, other, damaged

    turn, other, damaged = await sync_to_async(leave)()
    process = Process()
    process.loop = asyncio.get_running_loop()
    process.beat(True)
    await process.looked()
    async with asyncio.timeout(PATIENCE):
        while not other.is_over:
            process.beat(False)
            await process.looked()
            await other.arefresh_from_db()
    await turn.arefresh_from_db()
    assert not turn.is_over
    damaged.draft = ""
    await damaged.asave()
    process.beat(False)
    await process.looked()
    await turn.arefresh_from_db()
    assert turn.is_over


async def test_what_is_left_is_found_though_nobody_was_seen_to_go(
    conversation: Conversation,
) -> None:
    """Who has seen it may have been killed next, and one that ends may leave what it can't save."""
    turn = await sync_to_async(lambda: elsewhere(ask(conversation)))()
    process = Process()
    process.loop = asyncio.get_running_loop()
    for _ in range(RECOVER_EVERY):
        assert not turn.is_over
        process.beat(False)
        await process.looked()
        await turn.arefresh_from_db()
    assert turn.is_over


class Starting(Process):
    """One that takes a turn over as it starts."""

    def __init__(self, run: TurnContext) -> None:
        super().__init__()
        self.run = run

    @override
    async def clear_up(self) -> None:
        if not self.turns:
            self.start(self.run)


async def test_what_a_process_takes_over_as_it_starts_is_not_taken_for_lost(
    conversation: Conversation,
) -> None:
    """Signs of life are given by then."""
    run = await sync_to_async(lambda: run_in(conversation, ask(conversation)))()
    process = Starting(run)
    await process.look_after()
    await run.turn.arefresh_from_db()
    assert not run.turn.is_over
    (held,) = process.turns.values()
    held.stop()
    await held.ended()


async def test_pages_are_told_of_what_a_process_ends_as_it_starts(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are open at others, which may not have noticed yet that its own one is gone."""
    turn = await sync_to_async(lambda: elsewhere(ask(conversation)))()
    told: asyncio.Queue[hints.Hint] = asyncio.Queue()
    monkeypatch.setattr(channel, "listeners", [told.put_nowait])
    process = RunningTurns()
    await process.clear_up()
    assert await told.get() == hints.ConversationChanged(conversation.pk)
    await turn.arefresh_from_db()
    assert turn.status == Turn.Status.INTERRUPTED


@pytest.mark.parametrize(("is_cluster", "left"), [(False, 0), (True, 1)])
async def test_a_server_that_is_alone_closes_all_before_anybody_comes(
    alice: User, monkeypatch: pytest.MonkeyPatch, settings: Any, is_cluster: bool, left: int
) -> None:
    """Others close some, and begin to serve; calls in the background are closed with turns."""

    def leave() -> None:
        for _ in range(2):
            turn = elsewhere(ask(start_conversation(owner=alice)))
        ModelCall.objects.create(conversation=turn.conversation, purpose="title")

    await sync_to_async(leave)()
    settings.CLUSTER = is_cluster
    monkeypatch.setattr(crash_recovery, "CLOSED_AT_ONCE", 1)
    await RunningTurns().clear_up()
    assert await Turn.objects.unfinished().acount() == left
    assert await ModelCall.objects.filter(status="running").acount() == left


async def test_an_error_of_its_own_ends_no_look(conversation: Conversation) -> None:
    """The next sign of life looks again, and lets go of a turn that was ended elsewhere."""
    run = await sync_to_async(lambda: run_in(conversation, ask(conversation)))()
    process = Stumbling()
    process.loop = asyncio.get_running_loop()
    held = process.start(run)
    await sync_to_async(lifecycle.finish_turn)(turn=run.turn, status=Turn.Status.INTERRUPTED)
    for _ in range(2):
        process.beat(False)
        await process.looked()
    async with asyncio.timeout(PATIENCE):
        await held.ended()


class Resting(Process):
    """One that has nothing to look after."""

    @override
    async def look_after(self) -> None:
        pass


def test_a_process_knows_for_how_long_its_event_loop_stands_still() -> None:
    """Until that comes round again."""
    process = Resting()
    process.loop = loop = asyncio.new_event_loop()
    first, second = process.beat(False), process.beat(False)
    assert 0 <= first < second
    loop.run_until_complete(process.looked())
    began = time.monotonic()
    assert process.beat(False) <= time.monotonic() - began
    loop.close()
    assert process.beat(False) == 0


async def test_a_turn_that_is_claimed_while_its_process_ends_goes_on_elsewhere(
    conversation: Conversation,
) -> None:
    """It comes to its first safe point, and nobody is said to have stopped it."""
    run = await sync_to_async(lambda: run_in(conversation, ask(conversation)))()
    process = Process()
    process.closing = True
    held = process.start(run)
    assert isinstance(held, Held)
    assert held.left
    held.stop()


async def test_a_process_that_was_taken_for_dead_stores_nothing_more(
    anthropic_standin: Standin, page: Page
) -> None:
    """Its turn was ended with what was stored by then; the rest is let go, and an alarm raised."""
    lost = registry.get_sample_value("palimpsest_lost_turns_total") or 0
    gate = Gate()
    anthropic_standin.then(Reply("One two three four five six.", gate=gate))
    await page.begin("Count.")
    call = await ModelCall.objects.aget()
    while not await call.pieces.aexists():
        pass
    turn = await Turn.objects.aget()
    await sync_to_async(lifecycle.finish_turn)(
        turn=turn, status=Turn.Status.INTERRUPTED, error="It was taken for dead."
    )
    gate.open()
    await page.until_idle()
    assert registry.get_sample_value("palimpsest_lost_turns_total") == lost + 1
    assert await Message.objects.filter(role="assistant").acount() == 1
    await turn.arefresh_from_db()
    assert (turn.status, turn.error) == ("interrupted", "It was taken for dead.")
    assert (await ModelCall.objects.aget()).status == "interrupted"


async def test_a_turn_that_was_ended_elsewhere_waits_for_nobody(conversation: Conversation) -> None:
    """Or it would be open again, with a question that nobody's answer has go on."""
    turn = await sync_to_async(ask)(conversation)
    await sync_to_async(lifecycle.finish_turn)(turn=turn, status=Turn.Status.INTERRUPTED)
    with pytest.raises(TurnEndedElsewhere):
        await sync_to_async(turn.wait)()
    await turn.arefresh_from_db()
    assert (turn.status, turn.is_over) == ("interrupted", True)
