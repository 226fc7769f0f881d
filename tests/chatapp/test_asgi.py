"""Any ASGI server: the folder is its own from start to end."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.testing import HttpCommunicator, WebsocketCommunicator
from django.conf import LazySettings

from chatapp.asgi import SECOND, application
from chatapp.project.environment import BadEnvironment, only_server_in
from chatapp.turns.running_turns import running_turns
from tests.chatapp.sockets import PATIENCE
from tests.processes import ROOT


@pytest.mark.django_db(transaction=True)
async def test_a_server_keeps_its_folder_until_it_ends(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one is refused in the meantime, and welcome afterwards; nothing begins any more."""
    monkeypatch.setattr(running_turns, "closing", False)
    # What a start clears up is in a database, and here is none.
    monkeypatch.setattr(running_turns, "cleared_up", True)
    server = ApplicationCommunicator(application, {"type": "lifespan"})
    await server.send_input({"type": "lifespan.startup"})
    assert await server.receive_output(PATIENCE) == {"type": "lifespan.startup.complete"}

    other = ApplicationCommunicator(application, {"type": "lifespan"})
    await other.send_input({"type": "lifespan.startup"})
    refused = await other.receive_output(PATIENCE)
    assert refused["type"] == "lifespan.startup.failed"
    assert "Another server is running with DATA_DIR" in refused["message"]

    await server.send_input({"type": "lifespan.shutdown"})
    assert await server.receive_output(PATIENCE) == {"type": "lifespan.shutdown.complete"}
    assert running_turns.closing
    with only_server_in("DATA_DIR", Path(settings.DATA_DIR)):
        pass


def other_process_in(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that has the folder until its input ends; return when it has."""
    code = "import pathlib, sys; from chatapp.project.environment import only_server_in as only\n"
    code += f"with only('DATA_DIR', pathlib.Path({str(folder)!r})): print(flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, **pipes)
    assert process.stdout
    assert process.stdout.readline() == b"\n"
    return process


async def get(path: str) -> dict[str, Any]:
    """Return the answer to a request."""
    headers = [(b"host", b"localhost")]
    visit = HttpCommunicator(application, "GET", path, headers=headers)
    return dict(await visit.get_response(PATIENCE))


async def test_a_server_that_announces_no_start_has_its_folder_for_itself_too(
    settings: LazySettings,
) -> None:
    """While another one has it, no page is shown and no socket opened, and nothing is changed."""
    other = other_process_in(Path(settings.DATA_DIR))
    try:
        answer = await get("/static/no-such-file")
        socket = WebsocketCommunicator(application, "/ws/c/x/")
        opened, _code = await socket.connect(PATIENCE)
    finally:
        other.communicate(b"\n")
    assert (answer["status"], answer["body"]) == (503, SECOND)
    assert not opened
    assert (await get("/static/no-such-file"))["status"] == 404
    with pytest.raises(BadEnvironment), only_server_in("DATA_DIR", Path(settings.DATA_DIR)):
        pass


def test_a_folder_is_let_go_when_something_fails(tmp_path: Path) -> None:
    """However the server ends."""

    def fail() -> None:
        with only_server_in("DATA_DIR", tmp_path):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with only_server_in("DATA_DIR", tmp_path):
        pass
