"""An orderly stop of the server keeps what was being written, and says what became of it."""

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
from websockets.sync.client import ClientConnection, connect

from tests.chatapp.test_serve import PATIENCE, serving
from tests.first_start import FirstStart
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

STOPPING = "Stopping: what runs has {} s to finish its step, or until Ctrl+C.\n"
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


def until(socket: ClientConnection, type_: str) -> dict[str, Any]:
    """Return the next frame of a type."""
    while (frame := json.loads(socket.recv(PATIENCE)))["type"] != type_:
        pass
    return dict(frame)


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
def answering(
    data: Path, standin: Standin, safe_point: int
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Yield a server in the middle of an answer, and what its page was shown of that."""
    account = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": standin.url}
    with serving(data, SAFE_POINT=str(safe_point), **account) as (server, link):
        visitor = Visitor(link.strip())
        visitor.post("/c/new/")
        with visitor.open_socket() as socket:
            nonce = str(uuid.uuid4())
            socket.send(json.dumps({"type": "message.send", "text": "Count.", "nonce": nonce}))
            yield server, until(socket, "text.streamed")


def test_an_orderly_stop_keeps_the_answer_that_was_being_written(
    data: Path, standin: Standin
) -> None:
    """Without time for a safe point all that was shown is stored, and the turn interrupted."""
    standin.then(Reply("One two three four five six.", gate=Gate()))
    with answering(data, standin, 0) as (server, shown):
        server.send_signal(signal.SIGTERM)
        _rest, stderr = server.communicate(timeout=PATIENCE)
    assert stderr == ""
    with closing(sqlite3.connect(data / "palimpsest.sqlite3")) as database:
        ((content, reason),) = database.execute(
            "SELECT content, stop_reason FROM chatapp_message WHERE role = 'assistant'"
        )
        ((status, error),) = database.execute("SELECT status, error FROM chatapp_turn")
        ((calls,),) = database.execute("SELECT count(*) FROM chatapp_modelcall")
    words = re.findall(r"\w+", re.sub("<[^>]+>", "", "".join([*shown["closed"], shown["open"]])))
    assert words
    assert re.findall(r"\w+", json.loads(content)[0]["text"])[: len(words)] == words
    assert (reason, status, calls) == ("interrupted", "interrupted", 1)
    assert "The server was stopped" in error


def test_an_orderly_stop_lets_an_answer_come_to_its_end(data: Path, standin: Standin) -> None:
    """Where that takes no longer than the operator allows, nothing is interrupted."""
    gate = Gate()
    standin.then(Reply("One two three four five six.", gate=gate))
    with answering(data, standin, 3_600) as (server, _shown):
        server.send_signal(signal.SIGTERM)
        assert server.stdout
        assert server.stdout.readline() == STOPPING.format(3_600)
        gate.open()
        rest, stderr = server.communicate(timeout=PATIENCE)
    assert (rest, stderr) == ("", "")
    with closing(sqlite3.connect(data / "palimpsest.sqlite3")) as database:
        ((status, reason),) = database.execute(
            "SELECT t.status, m.stop_reason FROM chatapp_turn t "
            "JOIN chatapp_message m ON m.turn_id = t.id WHERE m.role = 'assistant'"
        )
    assert (status, reason) == ("succeeded", "end_turn")


def test_whoever_presses_ctrl_c_again_does_not_wait_for_a_safe_point(
    data: Path, standin: Standin
) -> None:
    """What runs is stored as interrupted at once, in the middle of its answer."""
    standin.then(Reply("One two three four five six.", gate=Gate()))
    with answering(data, standin, 3_600) as (server, _shown):
        server.send_signal(signal.SIGINT)
        assert server.stdout
        assert server.stdout.readline() == STOPPING.format(3_600)
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
