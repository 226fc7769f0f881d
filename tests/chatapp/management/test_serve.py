"""`manage.py serve`: one address when it works, one sentence when it cannot."""

import asyncio
import json
import os
import pty
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytest
from daphne.http_protocol import HTTPFactory
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import translation
from twisted.internet import tcp
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Protocol, ServerFactory, connectionDone
from twisted.internet.testing import MemoryReactor, StringTransport
from twisted.python.failure import Failure

from chatapp.management import request_bodies
from chatapp.management.commands.serve import QuietServer, address
from chatapp.operations import processes
from chatapp.project.environment import BadEnvironment
from chatapp.project.sentences import translate
from tests.chatapp.server_processes import PATIENCE, SIGN_IN, refusal, serving
from tests.first_start import FirstStart
from tests.processes import started


class Answer(NamedTuple):
    """What a server answers to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Life:
    """A server's life, from the link that it printed to its end."""

    server: subprocess.Popen[str]
    link: str
    answers: list[Answer] = field(default_factory=list)
    second: str = ""
    stdout: str = ""
    stderr: str = ""

    def ask(self, place: str, form: bytes | None = None) -> None:
        """Send a request, with a form where there is one."""
        headers = {"Content-Type": "multipart/form-data"} if form else {}
        url = f"{self.link.partition('/sign-in/')[0]}{place}"
        request = urllib.request.Request(url, form, headers)
        try:
            answered = urllib.request.urlopen(request, timeout=PATIENCE)
        except urllib.error.HTTPError as error:
            answered = error
        with answered:
            self.answers.append(Answer(answered.status, answered.headers, answered.read()))


def remove_database(data: Path) -> None:
    """Remove its file, and what SQLite keeps beside it."""
    for file in data.glob("palimpsest.sqlite3*"):
        file.unlink()


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart) -> Life:
    """The life of a server in a folder where one was started before, until Ctrl+C."""
    data = first_start.copy(tmp_path_factory.mktemp("data"))
    with closing(sqlite3.connect(data / "palimpsest.sqlite3")) as database, database:
        database.execute("UPDATE chatapp_profile SET encrypted_key = 'of another key'")
    with serving(data, LOG_FORMAT="json") as (server, link):
        life = Life(server, link)
        with (
            override_settings(DATA_DIR=data),
            pytest.raises(BadEnvironment) as second,
            processes.joined("web"),
        ):
            pass
        life.second = str(second.value).replace(str(data), "HERE")
        life.ask("/sign-in/")
        life.ask("/api/attachments", b"abc")
        life.ask("/sign-in/abc/def/?g=hij")
        life.ask("/healthz")
        remove_database(data)
        life.ask("/healthz")
        server.send_signal(signal.SIGINT)
        life.stdout, life.stderr = server.communicate(timeout=PATIENCE)
    return life


def test_a_server_prints_one_address_and_ends_in_order(life: Life, first_start: FirstStart) -> None:
    """At its first start and later."""
    assert SIGN_IN.match(first_start.link), first_start.link
    assert SIGN_IN.match(life.link), life.link
    assert life.stdout == ""
    assert life.server.returncode in {0, 130}


def test_a_stopped_servers_database_is_one_file(first_start: FirstStart) -> None:
    """Whoever copies that alone has all that was stored."""
    file = f"file:{first_start.data}/palimpsest.sqlite3?immutable=1"
    with closing(sqlite3.connect(file, uri=True)) as copied:
        assert copied.execute("SELECT username FROM auth_user").fetchall() == [("owner",)]


@pytest.mark.rare
def test_a_person_at_a_terminal_reads_what_the_address_is_for(
    tmp_path: Path, first_start: FirstStart
) -> None:
    """Standard output has the bare one all the same."""
    first_start.copy(tmp_path)
    ours, theirs = pty.openpty()
    folder = {"DATA_DIR": str(tmp_path), "PORT": "0"}
    with (
        os.fdopen(theirs, "w") as terminal,
        started("manage.py", "serve", stderr=terminal, **folder) as (_pid, link),
    ):
        assert "/sign-in/" in link
        said = b""
        while b"Open this link to sign in:" not in said:
            said += os.read(ours, 4_096)
    os.close(ours)


def test_a_server_stays_alone(life: Life) -> None:
    """A second one in its folder would end its turns."""
    assert life.second == (
        "Another server is running with DATA_DIR HERE. Stop it first, or set DATA_DIR to another "
        "folder."
    )


def test_a_server_answers_in_words(life: Life) -> None:
    """Programs too, and where its database is gone."""
    page, refused, _missing, well, unwell = life.answers
    assert (page.status, refused.status, well.status, unwell.status) == (200, 401, 200, 503)
    assert json.loads(refused.body).keys() == {"detail"}
    assert unwell.body == b"The database can't be read."


def test_each_line_of_its_log_is_an_object(life: Life) -> None:
    """Where LOG_FORMAT asks for it, Django's own lines as well."""
    lines = [json.loads(one) for one in life.stderr.splitlines()]
    request = life.answers[2].headers["X-Request-ID"]
    (found,) = [one["message"] for one in lines if one.get("request") == request]
    assert found == "Not Found: /sign-in/…/def/"


def test_a_start_names_a_secret_that_its_key_does_not_open(life: Life) -> None:
    """Before somebody needs it: the former key may still be in a copy."""
    said = [json.loads(one)["message"] for one in life.stderr.splitlines()]
    assert said[0] == (
        "the key of profile 1 can't be read with this SECRET_KEY: put the former key back, or into "
        "SECRET_KEY_FALLBACKS"
    )


def answered(size: int, content: BinaryIO | None = None) -> bytes:
    """Return what Daphne says of a body of this size, which it may have to keep in a file."""
    server, here = QuietServer(None, ["tcp:0"]), IPv4Address("TCP", "127.0.0.1", 80)
    server.connections = {}
    connection = HTTPFactory(server).buildProtocol(None)
    transport = StringTransport(here, here)
    connection.makeConnection(transport)
    head = f"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n"
    connection.dataReceived(head.encode())
    if content:
        (request,) = connection._channel.requests
        request.content.close()
        request.content = content
    connection.dataReceived(bytes(size))
    told: bytes = transport.value()
    return told


class Line(StringTransport):
    """A connection that has written all that it was given."""

    def doWrite(self) -> None:  # noqa: N802 - twisted's name
        """Write nothing more."""


class SlowLine(Line):
    """A connection whose client reads one piece when it is told to."""

    def writeSequence(self, data: Iterable[bytes]) -> None:  # noqa: N802 - twisted's name
        """Keep a piece that nobody has read."""
        super().writeSequence(data)
        self.producer.pauseProducing()  # type: ignore[union-attr]


@pytest.mark.parametrize("leaves", [False, True])
async def test_an_answer_comes_as_its_client_reads_and_is_not_cut_off(leaves: bool) -> None:
    """Twisted closes a line a minute after an answer's end, whatever is left to be read."""
    sent: list[int] = []
    ended = asyncio.Event()

    async def application(*, send: Any, **_request: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for left in range(2, -1, -1):
            sent.append(left)
            await send({"type": "http.response.body", "body": b"word", "more_body": left > 0})
        ended.set()

    server, here = QuietServer(application, ["tcp:0"]), IPv4Address("TCP", "127.0.0.1", 80)
    server.connections = {}
    connection = HTTPFactory(server).buildProtocol(None)
    transport = SlowLine(here, here)
    connection.makeConnection(transport)
    connection.dataReceived(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for count in range(1, 4):
        for _turn in range(10):
            await asyncio.sleep(0)
        assert (len(sent), ended.is_set()) == (count, False)
        assert not transport.value().endswith(b"0\r\n\r\n")
        assert transport.producer
        if leaves:
            transport.producer.stopProducing()
            connection.connectionLost(Failure(ConnectionDone()))
            break
        transport.producer.resumeProducing()
    await ended.wait()
    assert transport.value().endswith(b"0\r\n\r\n") is not leaves


class Listener(Protocol):
    """One end of a connection, which keeps what it was told."""

    told = b""

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - twisted's name
        """Keep what came."""
        self.told += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802 - the same
        """Keep that it ended."""
        del reason
        self.told += b" ended"


@pytest.mark.parametrize("broke", [False, True])
def test_a_client_that_left_behind_its_words_is_noticed_with_them(broke: bool) -> None:
    """No event comes later; its request would go on for as long as a provider says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client, heard = socket.create_connection(server.getsockname()), Listener()
        client.sendall(b"words")
        if broke:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        (accepted, at), port = server.accept(), tcp.Port(0, ServerFactory())
        accepted.setblocking(False)
        line = port.transport(accepted, heard, at, port, 1, MemoryReactor())
        heard.makeConnection(line)
        assert (line.doRead() is not None, heard.told) == (broke, b"words")
        line.connectionLost(connectionDone)
        client.close()


@pytest.mark.parametrize("begun", [True, False])
async def test_a_failure_ends_an_answer_that_has_begun(begun: bool) -> None:
    """Whoever reads it would wait for the rest; any other request is answered in words."""

    async def application(**_request: object) -> None:
        """Answer nothing."""

    server, here = QuietServer(application, ["tcp:0"]), IPv4Address("TCP", "127.0.0.1", 80)
    server.connections = {}
    connection = HTTPFactory(server).buildProtocol(None)
    transport = Line(here, here)
    connection.makeConnection(transport)
    connection.dataReceived(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    (request,) = connection._channel.requests
    if begun:
        request.handle_reply({"type": "http.response.start", "status": 200, "headers": []})
        request.handle_reply({"type": "http.response.body", "body": b"half", "more_body": True})
    request.handle_exception(ValueError("anything"))
    assert (b"half" in transport.value(), b"500" in transport.value()) == (begun, not begun)
    assert (transport.disconnecting, b"\r\n0\r\n\r\n" in transport.value()) == (begun, not begun)


def test_a_body_that_is_too_long_is_answered_with_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By Daphne, before the application sees any of it."""
    monkeypatch.setattr(request_bodies, "LARGEST_BODY", 2**20)
    answer = answered(2**20 + 1)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"up to 1 MB" in answer


@pytest.mark.parametrize("size", [1, 2**20])
def test_a_body_that_the_disk_has_no_room_for_is_answered_with_the_reason(size: int) -> None:
    """Once it is there: a client that is cut off while it sends reads no answer."""
    with Path("/dev/full").open("w+b") as full:
        answer = answered(size, full)
    assert answer.startswith(b"HTTP/1.1 507 ")
    assert b"Its disk is full. Make room there, then try again." in answer


@pytest.mark.rare
def test_a_port_in_use_is_said_before_anything_is_written(
    tmp_path: Path, first_start: FirstStart
) -> None:
    """A second start must not migrate the database under the first."""
    remove_database(first_start.copy(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refusal(tmp_path, PORT=str(port))
    assert sentence == (
        f"CommandError: Cannot listen on 127.0.0.1 port {port}: Address already in use. "
        "Set HOST or PORT to another value."
    )
    assert not (tmp_path / "palimpsest.sqlite3").exists()


def test_a_bad_port_is_one_sentence(tmp_path: Path) -> None:
    """The variable and the range are named."""
    sentence = refusal(tmp_path, PORT="65536")
    assert sentence == "PORT must be a whole number from 0 to 65535, not '65536'."


@pytest.mark.rare
def test_a_file_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    """Such as one that was made by another user, or here is a folder."""
    lock = tmp_path / "server.lock"
    lock.mkdir()
    assert refusal(tmp_path) == f"{lock} cannot be used: Is a directory."


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that root cannot write to")
def test_a_read_only_folder_is_one_sentence(settings: LazySettings) -> None:
    """Root ignores permission bits, but not that /proc takes no files."""
    settings.DATA_DIR = Path("/proc")
    with pytest.raises(CommandError, match=r"^DATA_DIR /proc is not writable: No such file"):
        call_command("serve")


@pytest.mark.rare
def test_a_damaged_database_is_one_sentence_in_the_terminals_language(
    tmp_path: Path, first_start: FirstStart
) -> None:
    """The file is named, and left as it is; pages would have been in other languages."""
    remove_database(first_start.copy(tmp_path))
    database = tmp_path / "palimpsest.sqlite3"
    database.write_text("no database, but long enough to be taken for one at first" * 100)
    said, named = "The database {name} cannot be used: {error}.", {"name": database}
    with translation.override("de"):
        german = translate(said, error="file is not a database", **named)
    assert german != said.format(error="file is not a database", **named)
    assert refusal(tmp_path, LANG="de_DE.UTF-8") == german


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("chat.example.org", "http://chat.example.org:80"),
        ("::1", "http://[::1]:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),  # noqa: S104 - only text
        ("::", "http://[::1]:80"),
    ],
)
def test_the_address_can_be_opened(host: str, url: str) -> None:
    """Brackets for IPv6, and no wildcard, which browsers refuse."""
    assert address(host, 80) == url
