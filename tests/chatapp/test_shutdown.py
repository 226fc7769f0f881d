"""An orderly stop of the server keeps what was being written, and says what became of it."""

import asyncio
import http.cookiejar
import json
import re
import signal
import sqlite3
import subprocess
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import LazySettings
from django.contrib.auth.models import User
from websockets.sync.client import ClientConnection, connect

from chatapp.models import Message, ModelCall, Turn
from chatapp.turns.running_turns import running_turns
from tests.chatapp.claude import converse
from tests.chatapp.sockets import open_page
from tests.chatapp.test_serve import PATIENCE, serving
from tests.first_start import FirstStart
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

STOPPING = "Stopping: what runs has 3600 s to finish its step, or until Ctrl+C.\n"
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Visitor:
    """Somebody with a browser's cookies."""

    def __init__(self, link: str) -> None:
        """Follow the link that signs in."""
        self.origin = link.partition("/sign-in/")[0]
        self.cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        self._page = self._open(link)
        if "sessionid" not in self.cookie:
            self.post(urllib.parse.urlsplit(link).path)

    def _open(self, address: str, data: bytes | None = None) -> str:
        with self._opener.open(address, data) as answer:
            self.address = answer.url
            return str(answer.read().decode())

    def read(self, path: str) -> str:
        """Return a page."""
        self._page = self._open(self.origin + path)
        return self._page

    def post(self, path: str, **fields: str) -> None:
        """Send a form as the last page would."""
        fields["csrfmiddlewaretoken"] = TOKEN.findall(self._page)[0]
        body = urllib.parse.urlencode(fields).encode()
        self._page = self._open(self.origin + path, body)

    @property
    def cookie(self) -> str:
        """The header with all cookies."""
        return "; ".join(f"{one.name}={one.value}" for one in self.cookies)

    def open_socket(self) -> ClientConnection:
        """Open the socket of the conversation that was opened last."""
        path = urllib.parse.urlsplit(self.address).path
        address = f"{self.origin.replace('http', 'ws', 1)}/ws{path}"
        headers = {"Cookie": self.cookie}
        patience: Any = {"open_timeout": PATIENCE, "ping_timeout": None}
        return connect(address, origin=self.origin, additional_headers=headers, **patience)  # type: ignore[arg-type] # a plain string


@pytest.fixture
def data(tmp_path: Path, first_start: FirstStart) -> Path:
    """A folder in which a server was started before."""
    return first_start.copy(tmp_path / "data")


@pytest.fixture
def standin() -> Iterator[Standin]:
    """What answers in it."""
    with Standin() as standin:
        yield standin


@contextmanager
def answering(data: Path, standin: Standin, safe_point: int) -> Iterator[subprocess.Popen[str]]:
    """Yield a server in the middle of an answer."""
    account = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": standin.url}
    with serving(data, SAFE_POINT=str(safe_point), **account) as (server, link):
        visitor = Visitor(link.strip())
        visitor.post("/c/new/")
        with visitor.open_socket() as socket:
            nonce = str(uuid.uuid4())
            socket.send(json.dumps({"type": "message.send", "text": "Count.", "nonce": nonce}))
            while json.loads(socket.recv(PATIENCE))["type"] != "text.streamed":
                pass
            yield server


def test_whoever_presses_ctrl_c_again_does_not_wait_for_a_safe_point(
    data: Path, standin: Standin
) -> None:
    """What runs is stored as interrupted at once, in the middle of its answer."""
    standin.then(Reply("One two three four five six.", gate=Gate()))
    with answering(data, standin, 3_600) as server:
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
    assert json.loads(content)[0]["text"].startswith("One two")
    assert status == "interrupted"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seconds", [0, 3_600])
async def test_an_orderly_stop_lets_an_answer_end_or_keeps_what_was_written_of_it(
    alice: User,
    standin: Standin,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    seconds: int,
) -> None:
    """As long as the operator allows; all that was shown is stored."""
    conversation = await sync_to_async(converse)(alice, standin)
    settings.SAFE_POINT, gate = seconds, Gate()
    monkeypatch.setattr(running_turns, "closing", False)
    standin.then(Reply("One two three four five six.", gate=gate))
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
