"""Any ASGI server: the folder is its own from start to end."""

from pathlib import Path

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import LazySettings

from chatapp.asgi import application
from chatapp.environment import only_server_in
from chatapp.live.rooms import hub


async def test_a_server_keeps_its_folder_until_it_ends(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one is refused in the meantime, and welcome afterwards; nothing begins any more."""
    monkeypatch.setattr(hub, "closing", False)
    server = ApplicationCommunicator(application, {"type": "lifespan"})
    await server.send_input({"type": "lifespan.startup"})
    assert await server.receive_output() == {"type": "lifespan.startup.complete"}

    other = ApplicationCommunicator(application, {"type": "lifespan"})
    await other.send_input({"type": "lifespan.startup"})
    refused = await other.receive_output()
    assert refused["type"] == "lifespan.startup.failed"
    assert "Another server is running with DATA_DIR" in refused["message"]

    await server.send_input({"type": "lifespan.shutdown"})
    assert await server.receive_output() == {"type": "lifespan.shutdown.complete"}
    assert hub.closing
    with only_server_in("DATA_DIR", Path(settings.DATA_DIR)):
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
