"""A socket is opened with the session of its page, and waits for nobody who writes."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client

from chatapp.models import Conversation, Turn
from chatapp.page.live import incoming_frames
from tests.chatapp.sockets import PATIENCE, Page, socket_of

pytestmark = pytest.mark.django_db(transaction=True)


async def answer(socket: WebsocketCommunicator) -> tuple[str, int | None]:
    """Open a socket, and return the type of what it is sent first, and the code of a close."""
    accepted, _ = await socket.connect(PATIENCE)
    assert accepted
    sent = await socket.receive_output(PATIENCE)
    await socket.disconnect(timeout=PATIENCE)
    return sent["type"], sent.get("code")


@pytest.mark.sqlite("one lock for all that is written")
async def test_a_socket_opens_while_a_message_waits_for_the_lock(
    conversation: Conversation, browser: Client, page: Page
) -> None:
    """Whoever only looks sees the conversation at once; the message is stored after the wait."""
    name, begun = connection.settings_dict["NAME"], threading.Event()

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith("BEGIN"):
            begun.set()
        return execute(sql, *rest)

    wrappers = await sync_to_async(lambda: connection.execute_wrappers)()
    with closing(sqlite3.connect(name, autocommit=True)) as other:
        other.execute("BEGIN IMMEDIATE")
        wrappers.append(note)
        await page.say("Hello.")
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        wrappers.remove(note)
        behind = asyncio.create_task(sync_to_async(int)())
        socket = socket_of(browser, f"/ws/c/{conversation.pk}/")
        assert await socket.connect(PATIENCE) == (True, None)
        await Page(socket).until("snapshot")
        assert not behind.done()
    await page.until_idle()
    await socket.disconnect(timeout=PATIENCE)
    assert (await Turn.objects.aget()).status == Turn.Status.SUCCEEDED


async def test_nobody_is_signed_in_with_a_session_that_is_over(
    conversation: Conversation, alice: User, browser: Client
) -> None:
    """It was removed, its account is closed, or the password is a new one."""
    path = f"/ws/c/{conversation.pk}/"
    assert await answer(socket_of(browser, path)) == ("websocket.send", None)
    closed = ("websocket.close", incoming_frames.SIGN_IN_REQUIRED)
    socket = socket_of(browser, path)
    await User.objects.filter(pk=alice.pk).aupdate(is_active=False)
    assert await answer(socket) == closed
    await User.objects.filter(pk=alice.pk).aupdate(is_active=True, password="another one")
    assert await answer(socket_of(browser, path)) == closed
    assert await Session.objects.aexists()
    await Session.objects.all().adelete()
    assert await answer(socket_of(browser, path)) == closed
