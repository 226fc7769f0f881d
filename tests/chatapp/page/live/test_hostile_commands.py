"""Every socket and every command, from whoever it is not for: nothing of Alice's is touched."""

import ast
import inspect
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

import condense
from chatapp.asgi import websocket_urlpatterns
from chatapp.conversations import conversations
from chatapp.models import Attachment, Conversation, Message, QueuedMessage, Turn, TurnRequest
from chatapp.page.live import incoming_frames
from tests.chatapp.runs import ended
from tests.chatapp.sockets import PATIENCE, Page, open_page, socket_of
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "Alice's secret"


def types_of(source: str) -> Iterator[str]:
    """Yield each type of a frame that is decoded, as its patterns name it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.MatchMapping):
            for key, pattern in zip(node.keys, node.patterns, strict=True):
                if isinstance(key, ast.Constant) and key.value == "type":
                    named = (one for one in ast.walk(pattern) if isinstance(one, ast.Constant))
                    yield from (str(one.value) for one in named)


COMMANDS = sorted(types_of(inspect.getsource(incoming_frames)))


@dataclass
class Hers:
    """What Alice's conversation is doing, and what names it."""

    turn: Turn
    queued: uuid.UUID
    attachment: Attachment

    def frames(self, command: str) -> Iterator[dict[str, Any]]:
        """Yield a command that names all of it, by whatever name it asks for."""
        # Those with her file first: what is sent again under its nonce is not looked at.
        for attachments, nonce in product(
            ([str(self.attachment.pk)], []), (self.turn.nonce, self.queued)
        ):
            yield {
                "type": command,
                "text": "Bob's words",
                "nonce": str(nonce),
                "turn": str(self.turn.pk),
                "seq": 1,
                "attachments": attachments,
            }

    async def is_untouched(self) -> bool:
        """Whether it goes on, and waits, as if nobody had asked for anything."""
        waiting = await QueuedMessage.objects.aget(nonce=self.queued)
        turn = await Turn.objects.aget(pk=self.turn.pk)
        asked = await TurnRequest.objects.filter(turn=turn).aexists()
        attached = await Attachment.objects.filter(pk=self.attachment.pk).aexists()
        whole = (waiting.text, turn.finished_at) == (f"{SECRET}, too", None)
        return whole and attached and not asked


@pytest.fixture
def gate() -> Gate:
    """What Alice's answer waits at."""
    return Gate()


@pytest.fixture
async def hers(
    conversation: Conversation, page: Page, anthropic_standin: Standin, gate: Gate
) -> Hers:
    """A turn of Alice's that runs, a message that waits for it, and a file that was not sent."""
    anthropic_standin.then(Reply("One two three four.", gate=gate), Reply("Five."))
    await page.begin(SECRET)
    queued = await page.say(f"{SECRET}, too", queued=True)
    await page.until("message.accepted", nonce=queued)
    block = condense.content_to_api((condense.TextBlock(SECRET),))[0]
    attachment = await Attachment.objects.acreate(owner=conversation.owner, block=block, tokens=1)
    return Hers(await conversation.turns.aget(), uuid.UUID(queued), attachment)


async def test_no_command_reaches_what_is_anothers(
    hers: Hers, conversation: Conversation, page: Page, bob: User, gate: Gate
) -> None:
    """Neither its turn nor what waits for it, whatever ids a page of Bob's sends."""
    assert "message.send" in COMMANDS
    for command in COMMANDS:
        own = await sync_to_async(conversations.start_conversation)(owner=bob)
        async with open_page(own, bob) as bobs:
            for frame in hers.frames(command):
                incoming_frames.decode(json.dumps(frame))
                await bobs.communicator.send_json_to(frame)
                await bobs.send("ping")
                await bobs.until("pong")
            await ended(own)
            assert await hers.is_untouched(), command
            assert SECRET not in json.dumps(bobs.frames), command
        said = [one async for one in Message.objects.filter(conversation=own).values()]
        assert SECRET not in str(said), command
    gate.open()
    await page.until("status.changed", turn="")
    turn = await Turn.objects.aget(pk=hers.turn.pk)
    assert turn.status == Turn.Status.SUCCEEDED
    said = [str(one.content) async for one in conversation.messages.order_by("seq")]
    assert "One two three four." in said[1]
    assert "Bob" not in "".join(said)


async def test_no_socket_opens_for_whom_it_is_not(
    conversation: Conversation, alice: User, bob: User
) -> None:
    """Each address, for a visitor, another member, and who was deactivated.

    The socket is accepted first: a refused one shows the browser no reason.
    """
    patterns = [f"/{one.pattern}" for one in websocket_urlpatterns]
    places = [one.replace("<uuid:conversation_id>", str(conversation.pk)) for one in patterns]
    assert not [place for place in places if "<" in place]
    expected = {
        None: incoming_frames.SIGN_IN_REQUIRED,
        bob: incoming_frames.NOT_YOURS,
        alice: incoming_frames.SIGN_IN_REQUIRED,
    }
    for user, code in expected.items():
        client = Client()
        if user:
            await client.aforce_login(user)
        await User.objects.filter(pk=alice.pk).aupdate(is_active=user != alice)
        for place in places:
            socket = socket_of(client, place)
            assert (await socket.connect(PATIENCE))[0]
            assert (await socket.receive_output(PATIENCE))["code"] == code, (place, user)
