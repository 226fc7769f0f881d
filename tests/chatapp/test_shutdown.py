"""An orderly stop of the server keeps what was being written, and says what became of it."""

import asyncio
import json
import re
import signal
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from chatapp.models import Conversation, Message, ModelCall, Turn
from chatapp.turns.running_turns import running_turns
from chatapp.web.consumers import TRY_AGAIN_LATER
from tests.chatapp.server_processes import PATIENCE, serving
from tests.chatapp.sockets import open_page
from tests.chatapp.visitors import Visitor
from tests.first_start import FirstStart
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

# Takes ten seconds at least to be streamed, so that it still is when it is stopped.
LONG = "Write 20,000 words about stopping."
STOPPING = "Stopping: what runs has 3600 s to finish its step, or until Ctrl+C.\n"


@pytest.mark.rare
def test_whoever_presses_ctrl_c_again_does_not_wait_for_a_safe_point(
    tmp_path: Path, first_start: FirstStart
) -> None:
    """What runs is stored as interrupted at once, in the middle of its answer."""
    data = first_start.copy(tmp_path)
    with serving(data, SAFE_POINT="3600") as (server, link):
        visitor = Visitor(link.strip())
        visitor.post("/c/new/")
        with visitor.open_socket() as socket:
            said = {"type": "message.send", "text": LONG, "nonce": str(uuid.uuid4())}
            socket.send(json.dumps(said))
            while json.loads(socket.recv(PATIENCE))["type"] != "text.streamed":
                pass
            server.send_signal(signal.SIGTERM)
            assert server.stdout
            assert server.stdout.readline() == STOPPING
            server.send_signal(signal.SIGINT)
            rest, stderr = server.communicate(timeout=PATIENCE)
    assert (rest, stderr) == ("Stopping now: what was written so far is kept.\n", "")
    with closing(sqlite3.connect(data / "palimpsest.sqlite3")) as database:
        ((content, status),) = database.execute(
            "SELECT m.content, t.status FROM chatapp_turn t "
            "JOIN chatapp_message m ON m.turn_id = t.id WHERE m.role = 'assistant'"
        )
    assert 0 < len(json.loads(content)[0]["text"].split()) < 20_000
    assert status == "interrupted"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seconds", [0, 3_600])
async def test_an_orderly_stop_lets_an_answer_end_or_keeps_what_was_written_of_it(
    conversation: Conversation,
    alice: User,
    anthropic_standin: Standin,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    seconds: int,
) -> None:
    """As long as the operator allows; all that was shown is stored."""
    settings.SAFE_POINT, gate = seconds, Gate()
    monkeypatch.setattr(running_turns, "closing", False)
    anthropic_standin.then(Reply("One two three four five six.", gate=gate))
    async with open_page(conversation, alice) as page:
        await page.say("Count.")
        shown = await page.until("text.streamed")
        if seconds:
            asyncio.get_running_loop().call_soon(gate.open)
        await running_turns.close()
    assert running_turns.turns == {}
    turn, row = await Turn.objects.aget(), await Message.objects.aget(role="assistant")
    said = row.content[0]["text"]
    words = re.findall(r"\w+", re.sub("<[^>]+>", "", "".join([*shown["closed"], shown["open"]])))
    assert words
    assert re.findall(r"\w+", said)[: len(words)] == words
    if seconds:
        ended, whole = ("succeeded", "", "end_turn"), "One two three four five six."
        assert (turn.status, turn.error, row.stop_reason, said) == (*ended, whole)
    else:
        assert (turn.status, row.stop_reason) == ("interrupted", "interrupted")
        assert turn.error == "The server was stopped. What was written until then is kept."
    assert await ModelCall.objects.acount() == 1


@pytest.mark.django_db(transaction=True)
async def test_a_page_sends_again_what_a_server_that_stops_does_not_take(
    conversation: Conversation, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its socket is closed, so that it comes back; its nonce makes a message one."""
    monkeypatch.setattr(running_turns, "closing", True)
    async with open_page(conversation, alice) as page:
        nonce = await page.say("Hello")
        while (sent := await page.communicator.receive_output(PATIENCE))[
            "type"
        ] != "websocket.close":
            assert "refused" not in sent["text"]
        assert sent["code"] == TRY_AGAIN_LATER
    monkeypatch.setattr(running_turns, "closing", False)
    async with open_page(conversation, alice) as page:
        for _ in range(2):
            await page.say("Hello", nonce=nonce)
            await page.until("message.accepted", nonce=nonce)
        await page.until_idle()
    assert await Message.objects.filter(role="user").acount() == 1
