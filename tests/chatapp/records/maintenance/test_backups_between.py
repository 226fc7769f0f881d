"""A backup of one kind of database becomes the same server on the other kind."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from chatapp.models.databases import in_use
from chatapp.project.environment import APPLICATION
from chatapp.records.maintenance.backups import (
    DATABASE,
    KEY,
    WORKSPACES,
    BackupPaths,
    unpack,
    write_backup,
)
from tests.chatapp.records.maintenance.conftest import Make
from tests.chatapp.records.maintenance.installation import Installation

SOUND = "2 messages, 0 condensations: all sound"


@contextmanager
def used(installation: Installation) -> Iterator[None]:
    """Have another process of this software work with a database of PostgreSQL's."""
    name = f"{APPLICATION} 42@web1"
    with closing(psycopg.connect(installation.url, application_name=name)):
        yield


def test_a_snapshot_is_of_one_moment(make_database: Make, tmp_path: Path) -> None:
    """A writer goes on all the while, and nothing that it writes meanwhile is in the backup.

    Tables are copied one after the other: a later one would have what an earlier one lacks.
    """
    there = make_database("postgresql")
    counts = ("SELECT count(*) FROM auth_group", "SELECT count(*) FROM socialaccount_socialapp")
    parameters = {**there.get_connection_params(), "cursor_factory": psycopg.Cursor}
    with closing(there.Database.connect(**parameters, autocommit=True)) as writer:

        def write() -> None:
            writer.execute("INSERT INTO auth_group (name) SELECT gen_random_uuid()")
            writer.execute(
                "INSERT INTO socialaccount_socialapp "
                "(provider, name, client_id, secret, key, provider_id, settings) "
                "VALUES ('', '', '', '', '', '', '{}')"
            )

        def write_first(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
            if "last_value" in sql:
                write()
            return execute(sql, *rest)

        write()
        with in_use(there), there.execute_wrapper(write_first):
            write_backup(BackupPaths(None, tmp_path / WORKSPACES), tmp_path / "backup.tar.gz")
        later = [writer.execute(one).fetchone() for one in counts]
    unpack(tmp_path / "backup.tar.gz", tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as copy:
        groups, apps = (copy.execute(one).fetchone() for one in counts)
    assert groups == apps < min(later)
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_backup_of_postgresql_becomes_a_file(
    on_postgresql: Installation, elsewhere: Installation
) -> None:
    """With its workspaces, and without anybody having to stop meanwhile."""
    plan = Path(WORKSPACES, "notes", "plan.txt")
    (on_postgresql.data / plan).parent.mkdir(parents=True)
    (on_postgresql.data / plan).write_text("Ship it.")
    with used(on_postgresql):
        made = on_postgresql.run("backup", "--with-key")
    elsewhere.run("restore", made.split()[1].rstrip(":"))
    assert SOUND in elsewhere.run("check_integrity")
    assert (elsewhere.data / plan).read_text() == "Ship it."


def test_a_backup_goes_back_to_postgresql_in_place_of_what_is_there(
    on_postgresql: Installation,
) -> None:
    """Only when asked, and while nobody works with it; what was there becomes a file."""
    file = str(on_postgresql.data / "backup.tar.gz")
    on_postgresql.run("backup", file, "--with-key")
    on_postgresql.run("import_transcript", str(on_postgresql.data / "session.json"))
    (on_postgresql.data / WORKSPACES / "1").mkdir(parents=True)
    with used(on_postgresql):
        refused = on_postgresql.refusal("restore", file, "--replace")
    assert "is in use by process 42@web1" in refused
    refused = on_postgresql.refusal("restore", file)
    assert f"{on_postgresql.url.rpartition('@')[2]} holds is there already" in refused
    assert "4 messages" in on_postgresql.run("check_integrity")
    on_postgresql.run("restore", file, "--replace")
    assert SOUND in on_postgresql.run("check_integrity")
    (aside,) = on_postgresql.data.glob("before-restore-*")
    assert {one.name for one in aside.iterdir()} == {DATABASE, WORKSPACES, KEY}
    assert "4 messages" in Installation(aside).run("check_integrity")


def test_an_older_backup_of_a_file_is_migrated_into_postgresql(
    here: Installation, elsewhere: Installation, postgresql_address: str
) -> None:
    """Whose tables are made; version 0.1.0 made its own step by step, which is on record there."""
    with here.entered():
        known = MigrationLoader(None).disk_migrations
        for app, name in [key for key, one in known.items() if one.replaces]:
            MigrationRecorder(connection).record_unapplied(app, name)
    file = str(here.data / "older.tar.gz")
    here.run("backup", file)
    there = Installation(elsewhere.data, postgresql_address)
    there.run("restore", file)
    assert SOUND in there.run("check_integrity")


def test_a_restore_that_fails_changes_nothing(
    here: Installation, on_postgresql: Installation, elsewhere: Installation, talked: Path
) -> None:
    """What is there stays, and so do the workspaces."""
    shutil.copy(talked / DATABASE, here.data)
    with closing(sqlite3.connect(here.file, autocommit=True)) as database:
        database.execute("UPDATE chatapp_conversation SET created_at = 'yesterday'")
    file = str(here.data / "odd.tar.gz")
    here.run("backup", file)
    there = Installation(elsewhere.data, on_postgresql.url)
    (there.data / WORKSPACES).mkdir()
    refused = there.refusal("restore", file, "--replace")
    assert refused.startswith("Nothing was changed: chatapp_conversation, ")
    assert SOUND in there.run("check_integrity")
    assert [one.name for one in there.data.iterdir() if "restore" in one.name] == []
