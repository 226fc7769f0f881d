"""A socket starts nothing for a session that has ended, or in a conversation that is gone."""

import asyncio
from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from chatapp.conversations import conversations
from chatapp.models import Conversation, Message, Turn
from chatapp.page.live import incoming_frames
from chatapp.turns import actions
from chatapp.web import consumers
from tests.chatapp.runs import ended
from tests.chatapp.sockets import PATIENCE, Page, open_page
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


async def until_closed(page: Page) -> int:
    """Return the code with which the server closes the socket."""
    while (sent := await page.communicator.receive_output(PATIENCE))["type"] != "websocket.close":
        pass
    code: int = sent["code"]
    return code


def sign_out(browser: Client, _alice: User) -> None:
    """Sign out in the browser that has the page open."""
    browser.post(reverse("account_logout"))


def deactivate(_browser: Client, alice: User) -> None:
    """Take the account away."""
    User.objects.filter(pk=alice.pk).update(is_active=False)


def change_password(_browser: Client, alice: User) -> None:
    """Choose another password, elsewhere."""
    alice = User.objects.get(pk=alice.pk)
    alice.set_password("another one")
    alice.save()


@pytest.mark.parametrize("command", ["message.send", "condense.start"])
@pytest.mark.parametrize("end", [sign_out, deactivate, change_password])
async def test_an_open_socket_starts_nothing_for_a_session_that_has_ended(
    conversation: Conversation,
    alice: User,
    browser: Client,
    end: Callable[[Client, User], None],
    command: str,
) -> None:
    """It is closed with the reason that the page shows; the text stays in the composer."""
    async with open_page(conversation, alice, browser.session) as page:
        await sync_to_async(end)(browser, alice)
        nonce = "0b7bd7ae-6bd6-4f0a-9a0f-3f3f3c9ad1d5"
        await page.send(command, text="Hello", nonce=nonce)
        assert await until_closed(page) == incoming_frames.SIGN_IN_REQUIRED
    assert not await Message.objects.aexists()
    assert not await Turn.objects.aexists()


def close_account(_browser: Client, alice: User) -> None:
    """Take the account away in the admin."""
    alice = User.objects.get(pk=alice.pk)
    alice.is_active = False
    alice.save()


def remove_session(browser: Client, _alice: User) -> None:
    """Remove the session from the database."""
    Session.objects.filter(pk=browser.session.session_key).delete()


@pytest.mark.parametrize("end", [sign_out, close_account, change_password, remove_session])
async def test_an_open_socket_ends_with_its_session(
    conversation: Conversation, alice: User, browser: Client, end: Callable[[Client, User], None]
) -> None:
    """At once, and although the page asks for nothing."""
    async with open_page(conversation, alice, browser.session) as page:
        await sync_to_async(end)(browser, alice)
        assert await until_closed(page) == incoming_frames.SIGN_IN_REQUIRED


async def test_the_other_sessions_of_a_user_go_on(
    conversation: Conversation, alice: User, browser: Client
) -> None:
    """Their pages come back; signing in elsewhere does not even ask that of them."""
    other = Client()
    async with open_page(conversation, alice, browser.session) as page:
        await other.aforce_login(alice)
        await sync_to_async(actions.announce_change)(conversation.pk)
        await page.until("transcript.changed")
        await sync_to_async(other.post)(reverse("account_logout"))
        assert await until_closed(page) == consumers.TRY_AGAIN_LATER


async def test_a_session_that_another_process_ended_is_shown_nothing_more(
    conversation: Conversation, alice: User, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for from time to time, when there is something to show."""
    monkeypatch.setattr(consumers, "LOOK_AGAIN", -1)
    async with open_page(conversation, alice, browser.session) as page:
        await sync_to_async(deactivate)(browser, alice)
        await sync_to_async(actions.announce_change)(conversation.pk)
        sent = await page.communicator.receive_output(PATIENCE)
    assert (sent["type"], sent["code"]) == ("websocket.close", incoming_frames.SIGN_IN_REQUIRED)


async def test_deleting_a_conversation_stops_its_turn_and_closes_its_sockets(
    conversation: Conversation, browser: Client, anthropic_standin: Standin, page: Page
) -> None:
    """What was written so far is kept, for whoever brings it back; no more is paid for."""
    gate = Gate()
    anthropic_standin.then(Reply("A long answer that nobody wants any more.", gate=gate))
    await page.say("Hello.")
    assert await asyncio.to_thread(gate.wait_until_reached)
    await page.until("text.streamed")
    address = reverse("delete", args=[conversation.pk])
    await sync_to_async(browser.post)(address)
    assert await until_closed(page) == incoming_frames.NOT_YOURS
    await ended(conversation)
    gate.open()
    turn = await Turn.objects.aget()
    assert turn.status == Turn.Status.STOPPED
    assert await Message.objects.filter(stop_reason="stopped").aexists()


async def test_a_deleted_conversation_takes_no_message_through_a_socket(
    conversation: Conversation, page: Page
) -> None:
    """Also where it was deleted by another process."""
    await sync_to_async(conversations.delete_conversation)(conversation=conversation)
    await page.say("Hello.")
    assert await until_closed(page) == incoming_frames.NOT_YOURS
    assert not await Message.objects.aexists()
