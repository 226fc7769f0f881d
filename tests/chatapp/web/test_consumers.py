"""The conversation socket, from the browser's side."""

import asyncio
import uuid
from typing import Any

import pytest
from autobahn.exception import Disconnected
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.urls import path

from chatapp.models import Condensation, Conversation, Message, Profile, Turn
from chatapp.web.consumers import ConversationConsumer
from tests.chatapp.sockets import PATIENCE, Page, open_page
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

# What runs does so in other threads than the test's, which see only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)

# Takes ten seconds at least to be streamed, so that it still is when it is stopped.
LONG = "Write 20,000 words about condensing."


async def test_a_message_sent_again_after_a_lost_connection_starts_one_turn(
    conversation: Conversation, alice: User
) -> None:
    """It is acknowledged both times."""
    nonce = str(uuid.uuid4())
    async with open_page(conversation, alice) as page:
        await page.say("Hello", nonce=nonce)
        await page.until("message.accepted")
        await page.until_idle()
    async with open_page(conversation, alice) as page:
        await page.say("Hello", nonce=nonce)
        await page.until("message.accepted")
    assert await Turn.objects.filter(conversation=conversation).acount() == 1


async def test_stop_keeps_what_was_streamed(conversation: Conversation, page: Page) -> None:
    """The turn is recorded as stopped, and the next message works."""
    await page.begin(LONG)
    await page.stop()
    await page.ask("Hello again")
    kept = await Message.objects.filter(conversation=conversation, stop_reason="stopped").aget()
    assert kept.content[0]["text"]
    statuses = [turn.status async for turn in Turn.objects.order_by("started_at")]
    assert statuses == [Turn.Status.STOPPED, Turn.Status.SUCCEEDED]


async def test_an_empty_conversation_is_not_condensed(
    conversation: Conversation, page: Page
) -> None:
    """The answer says why not, and nothing is put on record; in a small window either."""
    await Profile.objects.filter(pk=conversation.profile_id).aupdate(context_window=4_000)
    await page.send("condense.start")
    refusal = await page.until("refused")
    assert refusal["reason"].startswith("There is nothing to condense yet")
    assert not await Condensation.objects.aexists()
    assert not await Turn.objects.aexists()


async def test_a_call_is_shown_for_the_same_however_many_a_reply_makes(
    anthropic_standin: Standin, page: Page
) -> None:
    """Its own card is sent; the row with all of them once before and once after."""
    sent = []
    for calls in (4, 16):
        listings = [ToolCall("list_files", id=f"toolu_{calls}_{n}") for n in range(calls)]
        anthropic_standin.then(Reply("All of them.", listings), Reply("Done."))
        page.frames.clear()
        await page.ask("Look")
        told = [frame for frame in page.frames if frame["type"] == "article.upserted"]
        cards = [frame["id"] for frame in told if frame["id"].startswith("tool-")]
        assert len(cards) == 2 * calls
        sent.append(sum(len(frame["html"]) for frame in told) / calls)
    assert sent[1] < 1.2 * sent[0]


async def test_a_page_that_leaves_while_it_is_told_is_no_error(
    conversation: Conversation, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    """It says so itself in a moment; the log is for what an operator should see."""
    routes = URLRouter([path("<uuid:conversation_id>/", ConversationConsumer.as_asgi())])
    tried: asyncio.Queue[str] = asyncio.Queue()

    async def left(scope: Any, receive: Any, send: Any) -> None:
        async def refuse(message: dict[str, Any]) -> None:
            if message["type"] == "websocket.send":
                tried.put_nowait(message["text"])
                raise Disconnected
            await send(message)

        await routes(scope, receive, refuse)

    socket = WebsocketCommunicator(left, f"/{conversation.pk}/")
    socket.scope["user"] = alice
    await socket.connect(PATIENCE)
    await socket.send_json_to({"type": "ping"})
    async with asyncio.timeout(PATIENCE):
        while '"pong"' not in await tried.get():
            pass
    await socket.disconnect(timeout=PATIENCE)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
