"""Backup, restore and check as an operator runs them, also while a server is running."""

import sqlite3
import stat
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.test import override_settings

from chatapp.models.databases import opened
from chatapp.project.environment import database_problem, only_server_in
from tests.chatapp.records.maintenance.installation import Installation

PAGE_SIZE = 4_096  # SQLite's


def complaint(folder: Path, command: str) -> str:
    """Return the one line with which a command in a folder ends."""
    with Installation(folder).start(command) as process:
        (line,) = process.communicate()[1].splitlines()
    assert process.returncode == 1
    return line


@pytest.fixture
def backup(here: Installation) -> str:
    """The path of a backup with its key."""
    file = str(here.data / "backup.tar.gz")
    here.run("backup", file, "--with-key")
    return file


@pytest.mark.rare
def test_a_backup_becomes_the_same_server_elsewhere(here: Installation, tmp_path: Path) -> None:
    """Made while the server runs, with all that was said and the key that reads what is stored.

    Nothing is restored meanwhile.
    """
    other = Installation(tmp_path / "other")
    other.data.mkdir()
    with only_server_in("DATA_DIR", here.data):
        made = here.run("backup", "--with-key")
        assert made.startswith(f"Wrote {here.data}/backups/")
        file = made.split()[1].rstrip(":")
        assert "1 conversations, 2 messages" in here.run("check_integrity")
        assert "Another server is running" in here.refusal("restore", file, "--replace")
    other.run("restore", file)
    assert "2 messages" in other.run("check_integrity")
    assert (other.data / "secret-key").read_text() == (here.data / "secret-key").read_text()


def test_what_is_there_is_replaced_only_when_asked(here: Installation, backup: str) -> None:
    """And is kept even then."""
    here.run("import_transcript", str(here.data / "session.json"))
    assert "is there already" in here.refusal("restore", backup)
    here.run("restore", backup, "--replace")
    with closing(sqlite3.connect(here.file)) as database:
        assert database.execute("SELECT count(*) FROM chatapp_message").fetchone() == (2,)
    (aside,) = here.data.glob("before-restore-*")
    with closing(sqlite3.connect(aside / here.file.name)) as database:
        assert database.execute("SELECT count(*) FROM chatapp_message").fetchone() == (4,)


@pytest.mark.rare
def test_a_zeroed_page_is_a_finding(here: Installation) -> None:
    """The check says what it found and what to do."""
    with here.file.open("r+b") as database:
        database.write(bytes(PAGE_SIZE))
    with here.start("check_integrity") as process:
        _printed, complaints = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in complaints
    assert "The database" in complaints
    assert "restore a backup" in complaints


def test_an_empty_database_becomes_no_new_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever lost the old one is told, and the file stays as it is."""
    database = tmp_path / "palimpsest.sqlite3"
    database.touch()
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", database)
    said = "is empty, which no server leaves it. Restore a backup"
    for command in ("serve", "check_integrity"):
        with pytest.raises(CommandError, match=said):
            call_command(command)
    for command in ("backup", "rotate_keys"):
        assert said in complaint(tmp_path, command)
    assert database.stat().st_size == 0


@pytest.mark.rare
def test_a_damaged_database_is_a_sentence_to_every_command(tmp_path: Path) -> None:
    """Also to those that seldom meet one."""
    (tmp_path / "palimpsest.sqlite3").write_bytes(b"another program's file" * 99)
    said = f"The database {tmp_path}/palimpsest.sqlite3 cannot be used: file is not a database."
    for command in ("migrate", "rotate_keys"):
        assert complaint(tmp_path, command) == said


def damage(file: Path, name: str) -> None:
    """Empty the first page of a table or an index."""
    with closing(sqlite3.connect(file)) as database:
        ((page,),) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", [name]
        ).fetchall()
    with file.open("r+b") as pages:
        pages.seek((page - 1) * PAGE_SIZE)
        pages.write(bytes(PAGE_SIZE))


@pytest.mark.rare
def test_a_backup_of_a_file_with_damaged_indexes_has_its_rows(here: Installation) -> None:
    """Restored, it is sound; making the index of words anew would not help."""
    for name in ("message_visible", "chatapp_message_index_data"):
        damage(here.file, name)
    with pytest.raises(CommandError, match="Something is wrong"):
        here.run("check_integrity")
    with pytest.raises(DatabaseError, match="malformed"):
        here.run("rebuild_search")
    file = str(here.data / "backup.tar.gz")
    assert here.run("backup", file).startswith("The database file is damaged: ")
    here.run("restore", file, "--replace")
    assert "2 messages" in here.run("check_integrity")


@pytest.mark.rare
@pytest.mark.parametrize("name", ["chatapp_message", "chatapp_profile"])
def test_no_backup_is_made_of_rows_that_can_not_be_read(here: Installation, name: str) -> None:
    """It would be found out when it is needed."""
    damage(here.file, name)
    file = here.data / "backup.tar.gz"
    assert "could not be written" in here.refusal("backup", str(file))
    assert not file.exists()


@pytest.mark.usefixtures("db")
def test_a_new_database_is_made_as_a_whole(tmp_path: Path) -> None:
    """A kill leaves none, or one that is not taken for one that lost what it held."""
    file = tmp_path / "new.sqlite3"
    for _time in range(2):
        with opened({**settings.SQLITE, "NAME": file}) as database:
            database.ensure_connection()
            assert database_problem(file) is None
        assert [*tmp_path.glob("new*")] == [file]
        assert stat.filemode(file.stat().st_mode) == "-rw-------"


def test_a_key_that_is_in_no_file_is_not_promised(here: Installation) -> None:
    """Where SECRET_KEY sets it, a key that lies in the folder reads nothing of what is stored."""
    file = here.data / "backup.tar.gz"
    with (
        here.entered(),
        override_settings(SECRET_KEY="another " * 8),
        pytest.raises(CommandError, match="SECRET_KEY sets it"),
    ):
        call_command("backup", str(file), "--with-key")
    assert not file.exists()


def test_a_backup_without_its_key_says_so(here: Installation) -> None:
    """What is sealed with it could not be read elsewhere."""
    with here.entered():
        for more, lacks in (((), True), (("--with-key",), False)):
            said, file = StringIO(), here.data.parent / f"{lacks}.tar.gz"
            call_command("backup", str(file), *more, stdout=said)
            assert ("The secret key is not in it." in said.getvalue()) == lacks
