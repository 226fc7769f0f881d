"""A message sent while a turn runs waits for its end, whatever becomes of pages and processes."""

import asyncio
import uuid

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

import condense
from chatapp.conversations.composer import attachments
from chatapp.models import Conversation, Message, QueuedMessage, Turn, errors
from chatapp.page.live.incoming_frames import SendMessage
from chatapp.turns import crash_recovery, message_queue
from chatapp.turns.follow_ups import follow_turn
from chatapp.turns.message_queue import MOST_QUEUED
from chatapp.turns.running_turns import running_turns
from tests.chatapp.scripted_turns import ask, end
from tests.chatapp.sockets import Page, open_page
from tests.chatapp.turns.queued_texts import chips, shows
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

GONE = "no longer waiting"


async def queue(page: Page, *texts: str) -> list[str]:
    """Send messages while something runs, and wait until this page shows all of them."""
    nonces = [await page.say(text, queued=True) for text in texts]
    while texts[-1] not in str((await page.until("queue.changed"))["html"]):
        pass
    return nonces


async def questions() -> list[str]:
    """Return what was said, in order."""
    rows = Message.objects.filter(role="user").order_by("seq")
    return [row.content[0]["text"] async for row in rows]


async def test_what_waits_is_sent_by_itself_once_the_turn_ended_well(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """One after the other, in their order; every page shows what waits."""
    gate = Gate()
    anthropic_standin.then(Reply("One.", gate=gate), Reply("Two."), Reply("Three."))
    async with open_page(conversation, alice) as page, open_page(conversation, alice) as other:
        await page.begin("First")
        await queue(page, "Second", "Third")
        while chips(await other.until("queue.changed")) != ["Second", "Third"]:
            pass
        gate.open()
        for _ in range(3):
            await page.until_idle()
        await shows(page)
    assert await questions() == ["First", "Second", "Third"]
    turns = [turn.status async for turn in Turn.objects.all()]
    assert turns == [Turn.Status.SUCCEEDED] * 3


@pytest.mark.parametrize("broken", ["", "invalid_request_error"])
async def test_after_a_stop_or_a_failure_it_waits_for_a_person(
    conversation: Conversation, alice: User, anthropic_standin: Standin, broken: str
) -> None:
    """It may make no sense any more; a page that is opened later shows it, and can send it."""
    gate = Gate()
    anthropic_standin.then(Reply("One two.", gate=gate, broken=broken), Reply("Two."))
    async with open_page(conversation, alice) as page:
        await page.begin("First")
        (nonce,) = await queue(page, "Second")
        if broken:
            gate.open()
        else:
            await page.send("turn.stop")
        await page.until_idle()
        gate.open()
        await shows(page, "Second")
    assert await Turn.objects.acount() == 1
    async with open_page(conversation, alice) as page:
        await shows(page, "Second")
        await page.send("queue.send", nonce=nonce)
        await page.until_idle()
        await shows(page)
    assert await questions() == ["First", "Second"]


async def test_what_waits_for_a_person_keeps_nobody_from_saying_something_else(
    anthropic_standin: Standin, page: Page
) -> None:
    """Nothing runs, so that is sent at once; what waits follows it."""
    anthropic_standin.then(Reply("One two.", gate=Gate()), Reply("Other."), Reply("Second's."))
    await page.begin("First")
    await queue(page, "Second")
    await page.stop()
    await page.ask("Something else", queued=True)
    await page.until_idle()
    await shows(page)
    assert await questions() == ["First", "Something else", "Second"]


async def test_a_process_that_stops_leaves_to_another_what_is_to_be_sent(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its job counts as cut off, so it is run again; nothing is taken for refused."""
    turn = await sync_to_async(ask)(conversation)
    command = SendMessage("Second", uuid.uuid4(), queued=True)
    assert await sync_to_async(message_queue.queue_message)(conversation, command)
    await sync_to_async(end)(turn)
    monkeypatch.setattr(running_turns, "closing", True)
    with pytest.raises(asyncio.CancelledError):
        await follow_turn(str(turn.pk), True, None)


async def test_send_now_stops_what_runs_first(anthropic_standin: Standin, page: Page) -> None:
    """What was written is kept; that message goes first, and the others keep waiting in order."""
    gate = Gate()
    anthropic_standin.then(Reply("One two.", gate=gate), Reply("Third's."), Reply("Second's."))
    await page.begin("First")
    _second, third = await queue(page, "Second", "Third")
    await page.send("queue.send", nonce=third)
    await page.send("queue.send", nonce=third)
    for _ in range(3):
        await page.until_idle()
    await shows(page)
    assert await questions() == ["First", "Third", "Second"]
    statuses = [turn.status async for turn in Turn.objects.order_by("started_at")]
    assert statuses == [Turn.Status.STOPPED, Turn.Status.SUCCEEDED, Turn.Status.SUCCEEDED]


async def test_send_now_for_what_was_sent_stops_nothing(
    anthropic_standin: Standin, page: Page
) -> None:
    """A hand that clicks twice does not stop what its first click began."""
    first, second = Gate(), Gate()
    anthropic_standin.then(Reply("One two.", gate=first), Reply("Two.", gate=second))
    await page.begin("First")
    (nonce,) = await queue(page, "Second")
    await page.send("queue.send", nonce=nonce)
    assert await asyncio.to_thread(second.wait_until_reached)
    await page.send("queue.send", nonce=nonce)
    await page.send("ping")
    await page.until("pong")
    second.open()
    for _ in range(2):
        await page.until_idle()
    statuses = [turn.status async for turn in Turn.objects.order_by("started_at")]
    assert statuses == [Turn.Status.STOPPED, Turn.Status.SUCCEEDED]


async def test_what_waits_can_be_changed_and_removed(
    conversation: Conversation, anthropic_standin: Standin, browser: Client, page: Page
) -> None:
    """What was removed is not sent, and neither can be changed afterwards."""
    gate = Gate()
    anthropic_standin.then(Reply("One.", gate=gate))
    await page.begin("First")
    second, third = await queue(page, "Second", "Third")
    address = f"/c/{conversation.pk}/queue/{second}/text/"
    got = await sync_to_async(browser.get)(address)
    assert (got.content, got["Content-Type"]) == (b"Second", "text/plain; charset=utf-8")
    await page.send("queue.change", nonce=second, text="Second <b>")
    await page.until("message.accepted", nonce=second)
    await page.send("queue.change", nonce=second, text="  ")
    assert "Type a message" in (await page.until("refused"))["reason"]
    await page.send("queue.remove", nonce=third)
    await page.send("queue.remove", nonce=third)
    await page.until("message.accepted", nonce=third)
    await page.until("message.accepted", nonce=third)
    await shows(page, "Second &lt;b&gt;")
    await page.send("queue.change", nonce=third, text="x")
    assert GONE in (await page.until("refused"))["reason"]
    gate.open()
    await page.until_idle()
    await page.until_idle()
    assert await questions() == ["First", "Second <b>"]
    assert {row.text async for row in QueuedMessage.objects.all()} == {""}


async def test_a_message_that_waits_is_changed_to_what_is_understood(
    anthropic_standin: Standin, page: Page
) -> None:
    """As one that is put there; said to be text, it is text."""
    anthropic_standin.then(Reply("One.", gate=Gate()))
    await page.begin("First")
    (nonce,) = await queue(page, "Second")
    for text, unclear in (("/nosuch", True), ("@../secret", True), ("/clear", False)):
        await page.send("queue.change", nonce=nonce, text=text)
        refusal = await page.until("refused")
        assert (refusal["nonce"], refusal["unclear"]) == (nonce, unclear)
    assert (await QueuedMessage.objects.aget()).text == "Second"
    await page.send("queue.change", nonce=nonce, text="/nosuch", literal=True)
    await page.until("message.accepted", nonce=nonce)
    await shows(page, "/nosuch")


def test_what_an_earlier_text_brought_does_not_go_with_a_later_one(
    conversation: Conversation,
) -> None:
    """A message that waits may be changed while its paths are read, which takes its time."""
    turn, nonce = ask(conversation), uuid.uuid4()
    assert message_queue.queue_message(conversation, SendMessage("Read @a.py", nonce))
    end(turn)
    expanded = attachments.Expansion("Read @a.py", (condense.TextBlock("print()"),), 9)
    message_queue.change_queued(conversation=conversation, nonce=nonce, text="Never mind")
    begun = message_queue.start_queued(conversation, nonce, expanded)
    assert begun
    assert begun.question
    assert begun.question.text == "Never mind"


async def test_a_message_that_is_queued_twice_waits_once_and_is_sent_once(
    anthropic_standin: Standin, page: Page
) -> None:
    """The page repeats what it does not know to have arrived, also after it was sent."""
    gate = Gate()
    anthropic_standin.then(Reply("One.", gate=gate), Reply("Two."))
    first = await page.begin("First")
    await page.say("First", nonce=first, queued=True)
    await page.until("message.accepted", nonce=first)
    (nonce,) = await queue(page, "Second")
    await page.say("Second", nonce=nonce, queued=True)
    await page.until("message.accepted", nonce=nonce)
    await shows(page, "Second")
    gate.open()
    await page.until_idle()
    await page.until_idle()
    await page.say("Second", nonce=nonce, queued=True)
    await page.until("message.accepted", nonce=nonce)
    assert await questions() == ["First", "Second"]


async def test_what_may_wait_is_sent_at_once_where_nothing_runs(
    anthropic_standin: Standin, page: Page
) -> None:
    """The turn may have ended on the way."""
    await page.ask("First", queued=True)
    assert await questions() == ["First"]
    assert not await QueuedMessage.objects.aexists()


async def test_what_waits_survives_the_process(conversation: Conversation, alice: User) -> None:
    """A new one shows it, with a button to send it, and sends nothing by itself."""
    turn = await sync_to_async(ask)(conversation)
    queue_later = sync_to_async(message_queue.queue_message)
    assert await queue_later(conversation, SendMessage("Later", uuid.uuid4()))
    await sync_to_async(crash_recovery.close_unsaved)([], conversation)
    async with open_page(conversation, alice) as page:
        await shows(page, "Later")
    assert await Turn.objects.aget() == turn


def test_a_queue_has_an_end(conversation: Conversation) -> None:
    """More than that is refused, with the text kept in the page."""
    ask(conversation)
    for number in range(MOST_QUEUED):
        message_queue.queue_message(conversation, SendMessage(f"Message {number}", uuid.uuid4()))
    with pytest.raises(errors.Refused, match="Too many"):
        message_queue.queue_message(conversation, SendMessage("More", uuid.uuid4()))


def test_nothing_is_queued_where_nothing_runs(conversation: Conversation) -> None:
    """Nobody would send it: whoever queues it is told to send it at once."""
    command = SendMessage("Later", uuid.uuid4())
    assert not message_queue.queue_message(conversation, command)
    end(ask(conversation))
    assert not message_queue.queue_message(conversation, command)
    assert not QueuedMessage.objects.exists()


def test_a_message_that_is_known_is_not_queued_again(conversation: Conversation) -> None:
    """A page sends it again after a lost connection: it is in the full queue, or was sent."""
    turn = ask(conversation)
    commands = [SendMessage("Again", uuid.uuid4()) for _ in range(MOST_QUEUED)]
    for command in commands:
        assert message_queue.queue_message(conversation, command)
    assert message_queue.queue_message(conversation, commands[-1])
    QueuedMessage.objects.all().delete()
    assert turn.nonce
    assert message_queue.queue_message(conversation, SendMessage("Which?", turn.nonce))
    assert not QueuedMessage.objects.exists()


def test_a_change_that_comes_too_late_is_told_so(conversation: Conversation) -> None:
    """Also where only the message's files were to stay: it was sent with them."""
    with pytest.raises(errors.Refused, match=GONE):
        message_queue.change_queued(conversation=conversation, nonce=uuid.uuid4(), text="")
