"""A database that is damaged, or of a newer version, is refused before it is put in place."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chatapp.maintenance.backups import BadArchive
from chatapp.maintenance.data_folder import check_database


def database_with(folder: Path, *migrations: str) -> Path:
    """Return a database to which these migrations were applied."""
    path = folder / "palimpsest.sqlite3"
    with closing(sqlite3.connect(path, autocommit=True)) as database:
        database.execute("CREATE TABLE django_migrations (app TEXT, name TEXT)")
        rows = [("chatapp", name) for name in migrations]
        database.executemany("INSERT INTO django_migrations VALUES (?, ?)", rows)
        database.execute("CREATE TABLE page (number INTEGER CHECK (number > 0))")
    return path


def test_a_database_of_an_older_version_is_taken(tmp_path: Path) -> None:
    """The next start brings it up to date."""
    check_database(database_with(tmp_path, "0001_initial"))


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """What this version does not know it could not keep."""
    path = database_with(tmp_path, "0001_initial", "9999_better")
    with pytest.raises(BadArchive, match=r"newer version, which has 9999_better\.$"):
        check_database(path)


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    """Whether it can be read at all or not."""
    path = database_with(tmp_path, "0001_initial")
    with closing(sqlite3.connect(path, autocommit=True)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute("INSERT INTO page VALUES (-1)")
    with pytest.raises(BadArchive, match=r"is damaged: CHECK constraint failed in page\.$"):
        check_database(path)
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(BadArchive, match=r"can't be read: file is not a database\.$"):
        check_database(path)
