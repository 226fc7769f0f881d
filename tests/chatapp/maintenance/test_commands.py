"""Backup, restore and check as an operator runs them, beside a running server."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.chatapp.server_processes import serving
from tests.first_start import FirstStart
from tests.processes import ROOT

PAGE_SIZE = 4_096  # SQLite's


def manage(data: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of manage.py on a folder."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(data), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart) -> Path:
    """A backup of a running server with one conversation, which lies in that server's folder."""
    data = first_start.copy(tmp_path_factory.mktemp("server"))
    session = data / "session.json"
    said = (("user", "Where is north?"), ("assistant", "Up."))
    session.write_text(json.dumps([{"role": role, "content": text} for role, text in said]))
    with serving(data):
        assert manage(data, "import_transcript", str(session)).returncode == 0
        made = manage(data, "backup", "--with-key")
        assert made.stderr == ""
        checked = manage(data, "check_integrity")
        assert "1 conversations, 2 messages" in checked.stdout
        refused = manage(data, "restore", made.stdout.split()[1].rstrip(":"), "--replace")
        assert "Another server is running" in refused.stderr
    return Path(made.stdout.split()[1].rstrip(":"))


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory, backup: Path) -> Path:
    """A folder in which nothing was but what the backup holds."""
    data = tmp_path_factory.mktemp("restored")
    done = manage(data, "restore", str(backup))
    assert done.returncode == 0, done.stderr
    return data


def test_a_backup_becomes_the_same_server_elsewhere(backup: Path, restored: Path) -> None:
    """Made while the server ran, with all that was said and the key that reads what is stored."""
    assert "2 messages" in manage(restored, "check_integrity").stdout
    key = (backup.parent.parent / "secret-key").read_text()
    assert (restored / "secret-key").read_text() == key
    with serving(restored) as (_, url):
        assert url.startswith("http://")


def test_what_is_there_is_replaced_only_when_asked(
    backup: Path, tmp_path: Path, first_start: FirstStart
) -> None:
    """And is kept even then."""
    first_start.copy(tmp_path)
    refused = manage(tmp_path, "restore", str(backup))
    assert refused.returncode == 1
    assert "is there already" in refused.stderr
    assert manage(tmp_path, "restore", str(backup), "--replace").returncode == 0
    with closing(sqlite3.connect(tmp_path / "palimpsest.sqlite3")) as database:
        assert database.execute("SELECT count(*) FROM chatapp_message").fetchone() == (2,)
    (aside,) = tmp_path.glob("before-restore-*")
    assert (aside / "palimpsest.sqlite3").exists()


def test_a_zeroed_page_is_a_finding(restored: Path, tmp_path: Path) -> None:
    """The check says what it found and what to do."""
    shutil.copytree(restored, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "palimpsest.sqlite3").open("r+b") as database:
        database.write(bytes(PAGE_SIZE))
    checked = manage(tmp_path, "check_integrity")
    assert checked.returncode == 1
    assert "Traceback" not in checked.stderr
    assert "The database" in checked.stderr
    assert "restore a backup" in checked.stderr


def test_an_empty_database_becomes_no_new_installation(
    tmp_path: Path, first_start: FirstStart
) -> None:
    """Whoever lost the old one is told, and the file stays as it is."""
    database = first_start.copy(tmp_path) / "palimpsest.sqlite3"
    database.write_bytes(b"")
    refused = manage(tmp_path, "serve", PORT="0")
    assert refused.returncode == 1
    assert "is empty, which no server leaves it. Restore a backup" in refused.stderr
    assert database.stat().st_size == 0


def test_a_key_that_is_in_no_file_is_not_promised(tmp_path: Path, first_start: FirstStart) -> None:
    """Where SECRET_KEY sets it, a key that lies in the folder reads nothing of what is stored."""
    first_start.copy(tmp_path)
    file = tmp_path / "backup.tar.gz"
    refused = manage(tmp_path, "backup", str(file), "--with-key", SECRET_KEY="another " * 8)
    assert refused.returncode == 1
    assert "SECRET_KEY sets it" in refused.stderr
    assert not file.exists()
