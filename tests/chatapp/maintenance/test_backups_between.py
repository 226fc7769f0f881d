"""A backup of one kind of database becomes the same server on the other kind."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import psycopg

from chatapp.maintenance.backups import DATABASE, WORKSPACES, Source, write_backup
from chatapp.models.databases import in_use
from tests.chatapp.maintenance.conftest import Make
from tests.chatapp.maintenance.test_archives import restored
from tests.chatapp.maintenance.test_commands import backup, manage
from tests.chatapp.maintenance.test_move_database import FILE, data, elsewhere
from tests.chatapp.server_processes import serving

__all__ = ["backup", "data", "elsewhere"]

SOUND = "2 messages, 0 condensations: all sound"


def groups_in(path: Path) -> list[str]:
    """Return the names of groups in a file, in the order of their making."""
    with closing(sqlite3.connect(path)) as opened:
        return [name for (name,) in opened.execute("SELECT name FROM auth_group ORDER BY id")]


def test_a_snapshot_is_of_one_moment(make_database: Make, tmp_path: Path) -> None:
    """A writer goes on all the while, and no half of its transactions is in the backup."""
    there = make_database("postgresql")
    going, stop = threading.Event(), threading.Event()

    def write() -> None:
        parameters = {**there.get_connection_params(), "cursor_factory": psycopg.Cursor}
        with closing(there.Database.connect(**parameters)) as writer:
            number = 0
            while not stop.is_set():
                number += 1
                with writer.transaction():
                    for half in ("a", "b"):
                        row = (f"{number} {half}",)
                        writer.execute("INSERT INTO auth_group (name) VALUES (%s)", row)
                going.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for attempt in range(3):
            going.clear()
            assert going.wait(60)
            path = tmp_path / f"{attempt}.tar.gz"
            with in_use(there):
                write_backup(Source(None, tmp_path / WORKSPACES), path)
            names = groups_in(restored(path, tmp_path / f"out-{attempt}") / DATABASE)
            assert len(names) >= 2
            assert names == [f"{n // 2 + 1} {'ab'[n % 2]}" for n in range(len(names))]
    finally:
        stop.set()
        thread.join()
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_what_runs_on_postgresql_is_backed_up_and_becomes_a_file(
    data: Path, elsewhere: Path, postgresql_address: str
) -> None:
    """While it runs, with its workspaces; or goes back to PostgreSQL, in place of what is there."""
    there = {"DATABASE_URL": postgresql_address}
    assert manage(data, "move_database", "--to", postgresql_address).returncode == 0
    (data / FILE).unlink()
    (data / WORKSPACES / "notes").mkdir(parents=True)
    (data / WORKSPACES / "notes" / "plan.txt").write_text("Ship it.")
    with serving(data, **there):
        made = manage(data, "backup", "--with-key", **there)
        assert (made.returncode, made.stderr) == (0, "")
        file = made.stdout.split()[1].rstrip(":")
        refused = manage(elsewhere, "restore", file, "--replace", **there)
        assert "is in use by process" in refused.stderr
    done = manage(elsewhere, "restore", file)
    assert (done.returncode, done.stderr) == (0, "")
    assert SOUND in manage(elsewhere, "check_integrity").stdout
    assert (elsewhere / WORKSPACES / "notes" / "plan.txt").read_text() == "Ship it."

    assert manage(data, "import_transcript", str(data / "session.json"), **there).returncode == 0
    refused = manage(data, "restore", file, **there)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"{postgresql_address.rpartition('@')[2]} holds is there already" in refused.stderr
    assert "4 messages" in manage(data, "check_integrity", **there).stdout
    done = manage(data, "restore", file, "--replace", **there)
    assert (done.returncode, done.stderr) == (0, "")
    assert SOUND in manage(data, "check_integrity", **there).stdout
    (aside,) = data.glob("before-restore-*")
    assert {one.name for one in aside.iterdir()} == {FILE, WORKSPACES, "secret-key"}
    (aside / FILE).rename(data / FILE)
    assert "4 messages" in manage(data, "check_integrity").stdout


def test_a_restore_that_fails_changes_nothing(
    data: Path, elsewhere: Path, postgresql_address: str
) -> None:
    """What is there stays, and so do the workspaces."""
    there = {"DATABASE_URL": postgresql_address}
    assert manage(data, "move_database", "--to", postgresql_address).returncode == 0
    with closing(sqlite3.connect(data / FILE, autocommit=True)) as database:
        database.execute("UPDATE chatapp_conversation SET created_at = 'yesterday'")
    file = str(data / "odd.tar.gz")
    assert manage(data, "backup", file).returncode == 0
    (elsewhere / WORKSPACES).mkdir()
    refused = manage(elsewhere, "restore", file, "--replace", **there)
    assert refused.stderr.startswith("CommandError: Nothing was changed: chatapp_conversation, ")
    assert refused.stderr.count("\n") == 1
    assert SOUND in manage(elsewhere, "check_integrity", **there).stdout
    assert [one.name for one in elsewhere.iterdir() if "restore" in one.name] == []
