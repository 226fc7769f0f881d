"""A worker tells on a port of its own whether it is ready, and its numbers; as a web process."""

import asyncio
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import redis
from django.contrib.auth.models import User
from pytest_django import Settings

from chatapp.models import Conversation
from chatapp.project import telemetry
from chatapp.project.environment import BadEnvironment
from chatapp.turns import monitoring
from chatapp.turns.monitoring import WITHOUT_REDIS
from chatapp.turns.running_turns import running_turns
from tests.conftest import IN_CI

pytestmark = pytest.mark.django_db(transaction=True)


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[ThreadingHTTPServer]:
    """A worker that tells."""
    settings.WORKER_PORT, settings.ALLOW_METRICS = free_port(), True
    server = monitoring.serve()
    assert server
    yield server
    await asyncio.to_thread(server.shutdown)
    server.server_close()


async def send(settings: Settings, *pieces: bytes) -> bytes:
    """Send bytes, and return all that is answered."""
    reader, writer = await asyncio.open_connection(settings.HOST, settings.WORKER_PORT)
    for piece in pieces:
        writer.write(piece)
    answered = await reader.read()
    writer.close()
    return answered


async def ask(settings: Settings, path: str, *headers: str) -> tuple[int, str]:
    """Return status and text of an address."""
    lines = [f"GET {path} HTTP/1.1", "Host: worker", *headers, "", ""]
    answered = (await send(settings, "\r\n".join(lines).encode())).decode()
    head, _, text = answered.partition("\r\n\r\n")
    return int(head.split()[1]), text


async def test_its_numbers_are_its_own(
    settings: Settings, worker: ThreadingHTTPServer, alice: User, conversation: Conversation
) -> None:
    """Turns, lag, what it reaches, and its last sign of life; for whoever has the token."""
    await running_turns.clear_up()
    telemetry.note_heartbeat()
    status, text = await ask(settings, "/metrics?all=1")
    numbers = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    assert status == 200
    assert float(numbers["palimpsest_running_turns"]) == 0
    assert float(numbers["palimpsest_event_loop_lag_seconds"]) >= 0
    assert float(numbers["palimpsest_database_reachable"]) == 1
    assert float(numbers["palimpsest_heartbeat_timestamp_seconds"]) == telemetry.heartbeat()
    assert "palimpsest_redis_reachable" not in numbers
    assert 'palimpsest_turns_total{outcome="succeeded"}' in numbers
    settings.ALLOW_METRICS = False
    assert await ask(settings, "/metrics") == (404, "Not found")
    settings.METRICS_TOKEN = "secret"
    assert await ask(settings, "/metrics", "Authorization: Bearer secre") == (
        401,
        "A token is needed.",
    )
    assert (await ask(settings, "/metrics", "authorization:  bearer secret"))[0] == 200


async def test_what_is_no_question_ends_its_connection_alone(
    settings: Settings, worker: ThreadingHTTPServer
) -> None:
    """It stays there for the next one."""
    assert await ask(settings, "/") == (404, "Not found")
    head = await send(settings, b"HEAD /readyz HTTP/1.1\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 ")
    assert head.endswith(b"\r\n\r\n")
    assert (await send(settings, b"POST /readyz HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.0 501 ")
    assert b"Error code: 400" in await send(settings, b"\xff\r\n\r\n")
    assert (await send(settings, b"x" * 2**16 + b"\r\n")).startswith(b"HTTP/1.0 414 ")
    _reader, writer = await asyncio.open_connection(settings.HOST, settings.WORKER_PORT)
    writer.close()
    assert await ask(settings, "/readyz") == (200, "ok")


def test_a_port_that_is_taken_is_said(settings: Settings) -> None:
    """In a sentence; without a port, there is nothing."""
    assert monitoring.serve() is None
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings.WORKER_PORT = taken.getsockname()[1]
        said = r"^Cannot listen on 127\.0\.0\.1 port \d+: .*[Aa]ddress already in use.*WORKER_PORT"
        with pytest.raises(BadEnvironment, match=said):
            monitoring.serve()


@contextmanager
def redis_on(port: int, folder: Path) -> Iterator[None]:
    """Run Redis from its first answer on."""
    program = shutil.which("redis-server")
    assert program, "needs Debian's redis-server: apt-get install redis-server"
    with (
        subprocess.Popen(
            [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
            cwd=folder,
            stdout=subprocess.DEVNULL,
        ) as process,
        redis.Redis(port=port) as client,
    ):
        while True:
            assert process.poll() is None, "Redis did not start"
            with suppress(redis.ConnectionError):
                client.ping()
                break
        yield
        process.terminate()


@pytest.mark.skipif(
    not (IN_CI or shutil.which("redis-server")), reason="needs Debian's redis-server"
)
async def test_without_redis_it_is_ready_and_says_so(
    settings: Settings, worker: ThreadingHTTPServer, tmp_path: Path
) -> None:
    """Until it is back; one that is full takes nothing either."""
    port = free_port()
    settings.CLUSTER, settings.REDIS_URL = True, f"redis://127.0.0.1:{port}/0"
    for _ in range(2):
        with redis_on(port, tmp_path), redis.Redis(port=port) as client:
            client.config_set("maxmemory", "1")
            assert await ask(settings, "/readyz") == (200, WITHOUT_REDIS)
            client.config_set("maxmemory", "0")
            assert await ask(settings, "/readyz") == (200, "ok")
            assert "palimpsest_redis_reachable 1.0" in (await ask(settings, "/metrics"))[1]
        assert await ask(settings, "/readyz") == (200, WITHOUT_REDIS)
        assert "palimpsest_redis_reachable 0.0" in (await ask(settings, "/metrics"))[1]
