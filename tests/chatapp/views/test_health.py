"""What watches over the server is told in a word whether it lives, and whether it may be used."""

from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django import Settings

from chatapp.turns.active_conversations import hub


def answer(address: str) -> tuple[int, str]:
    """Return status and text, as somebody without an account gets them."""
    found = Client().get(address)
    return found.status_code, found.text


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_a_server_that_works_says_so(db: None, address: str) -> None:
    """It needs nobody who is signed in."""
    assert answer(address) == (200, "ok")


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_without_its_database_it_is_neither(db: None, address: str) -> None:
    """Without a trace, which would tell strangers where it lies."""

    def fail(*_args: Any) -> Any:
        raise OperationalError("disk I/O error")

    with connection.execute_wrapper(fail):
        assert answer(address) == (503, "The database can't be read.")


def test_while_it_is_stopped_it_is_alive_and_not_ready(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turns end in peace, and none begins."""
    monkeypatch.setattr(hub, "closing", True)
    assert answer("/healthz") == (200, "ok")
    assert answer("/readyz") == (503, "The server is being stopped.")


def test_before_its_migrations_it_is_not_ready(db: None) -> None:
    """As in a deployment that migrates beside it."""
    MigrationRecorder(connection).record_unapplied("chatapp", "0002_message_index")
    assert answer("/readyz") == (503, "The database has to be migrated.")


def test_on_a_disk_that_takes_nothing_it_is_not_ready(
    db: None, settings: Settings, tmp_path: Path
) -> None:
    """Pages can still be read."""
    settings.DATA_DIR = tmp_path / "not there"
    assert answer("/healthz") == (200, "ok")
    assert answer("/readyz") == (503, "The disk can't be written.")
