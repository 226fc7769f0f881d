"""Backups: complete or not at all, made beside writers, and never believed unread."""

import contextlib
import gzip
import io
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from chatapp.models.errors import BadArchive
from chatapp.records.maintenance.backups import (
    DATABASE,
    KEY,
    SEAL_KEY,
    WORKSPACES,
    BackupPaths,
    check_database,
    put_in_place,
    unpack,
    write_backup,
)
from tests.chatapp.exchanges import exchanging


@pytest.fixture
def source(tmp_path: Path) -> BackupPaths:
    """A small server: a database with one pair of rows, a key, and a workspace."""
    home = tmp_path / "home"
    (home / WORKSPACES / "notes").mkdir(parents=True)
    (home / WORKSPACES / "notes" / "plan.txt").write_text("Ship it.")
    (home / KEY).write_text("secret")
    with closing(sqlite3.connect(home / DATABASE, autocommit=True)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE pair (number INTEGER)")
        database.execute("INSERT INTO pair VALUES (0), (0)")
    return BackupPaths(home / DATABASE, home / WORKSPACES, home / KEY)


def restored(path: Path, folder: Path) -> Path:
    """Unpack into a new folder, and return it."""
    folder.mkdir()
    unpack(path, folder)
    return folder


def pairs(database: Path) -> list[int]:
    """Return the numbers in a database of pairs."""
    with closing(sqlite3.connect(database)) as opened:
        return [row[0] for row in opened.execute("SELECT number FROM pair")]


def hidden(folder: Path) -> list[str]:
    """Return the names in a folder that are not shown."""
    return [one.name for one in folder.iterdir() if one.name.startswith(".")]


def test_what_a_killed_backup_has_left_is_removed_by_the_next(
    source: BackupPaths, tmp_path: Path
) -> None:
    """It is as large as the database; what somebody else calls so stays."""
    program = f"""
import django, os, signal, tarfile
from pathlib import Path
django.setup()
from chatapp.records.maintenance.backups import BackupPaths, write_backup
tarfile.TarFile.gettarinfo = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_backup(BackupPaths(Path({str(source.database)!r}), Path("nowhere")), Path("backup.tar.gz"))
"""
    environment = {
        "PYTHONPATH": str(Path(__file__).parents[4]),
        "DATA_DIR": str(tmp_path / "data"),
        "DJANGO_SETTINGS_MODULE": "chatapp.settings",
    }
    killed = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(hidden(tmp_path)) == 2
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in hidden(tmp_path)} == {0o600}
    (tmp_path / ".backup-mine").mkdir()
    write_backup(source, tmp_path / "backup.tar.gz")
    assert hidden(tmp_path) == [".backup-mine"]


def test_what_went_in_comes_out(source: BackupPaths, tmp_path: Path) -> None:
    """As it was, bytes of names too; only its owner reads it; a key only where it is asked for."""
    path = tmp_path / "backup.tar.gz"
    write_backup(source, path)
    folder = restored(path, tmp_path / "out")
    assert pairs(folder / DATABASE) == [0, 0]
    assert (folder / KEY).read_text() == "secret"
    assert (folder / WORKSPACES / "notes" / "plan.txt").read_text() == "Ship it."
    assert path.stat().st_mode & 0o077 == 0
    assert hidden(tmp_path) == []
    write_backup(BackupPaths(source.database, source.workspaces), path)
    assert b"secret" not in gzip.decompress(path.read_bytes())
    name = os.fsdecode(b"r\xe9sum\xe9.txt")
    (source.workspaces / name).write_text("Old.")
    write_backup(source, path)
    assert (restored(path, tmp_path / "again") / WORKSPACES / name).read_text() == "Old."


def test_the_key_of_seals_goes_with_the_other_one(source: BackupPaths, tmp_path: Path) -> None:
    """Where there is one; and it comes back, in place of another."""
    for seal_key, there in ((tmp_path / "none", False), (tmp_path / "seal", True)):
        if there:
            seal_key.write_text("sealing")
        whole, path = replace(source, seal_key=seal_key), tmp_path / f"{there}.tar.gz"
        write_backup(whole, path)
        folder = restored(path, tmp_path / f"out-{there}")
        assert (folder / SEAL_KEY).exists() == there
    seal_key.write_text("another")
    put_in_place(folder, whole, tmp_path / "aside")
    assert seal_key.read_text() == "sealing"
    assert (tmp_path / "aside" / "seal").read_text() == "another"


def test_a_database_is_as_it_was_at_one_moment(source: BackupPaths, tmp_path: Path) -> None:
    """A writer goes on all the while, and no half of its transactions is in the backup."""
    going, stop = threading.Event(), threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(source.database, timeout=60)) as database:
            number = 0
            while not stop.is_set():
                number += 1
                with database:
                    database.execute("INSERT INTO pair VALUES (?)", (number,))
                    database.execute("INSERT INTO pair VALUES (?)", (number,))
                going.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for attempt in range(4):
            going.clear()
            assert going.wait(60)
            path = tmp_path / f"{attempt}.tar.gz"
            write_backup(source, path)
            numbers = pairs(restored(path, tmp_path / f"out-{attempt}") / DATABASE)
            assert numbers[::2] == numbers[1::2]
    finally:
        stop.set()
        writer.join()


def test_what_is_no_file_is_left_out_and_said(source: BackupPaths, tmp_path: Path) -> None:
    """A pipe would be read for ever; a link is kept as a link."""
    os.mkfifo(source.workspaces / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as bound, contextlib.chdir(source.workspaces):
        bound.bind("socket")
    (source.workspaces / "link").symlink_to("notes/plan.txt")
    (source.workspaces / "away").symlink_to("/etc")
    path = tmp_path / "backup.tar.gz"
    assert write_backup(source, path).left_out == [
        f"{WORKSPACES}/{name}: not a file" for name in ("pipe", "socket")
    ]
    folder = tmp_path / "out"
    folder.mkdir()
    (refused,) = unpack(path, folder).left_out
    assert "away" in refused
    assert (folder / WORKSPACES / "link").read_text() == "Ship it."
    assert not (folder / WORKSPACES / "away").is_symlink()


def test_a_path_that_is_too_long_to_be_restored_is_left_out(
    source: BackupPaths, tmp_path: Path
) -> None:
    """A restore unpacks in a folder whose own path is longer."""
    with contextlib.chdir(source.workspaces):
        for _ in range(19):
            Path("d" * 200).mkdir()
            os.chdir("d" * 200)
        Path("deep").write_text("deep")
    (left_out,) = write_backup(source, tmp_path / "backup.tar.gz").left_out
    assert left_out.endswith("/deep: File name too long")
    restored(tmp_path / "backup.tar.gz", tmp_path / ("out" * 80))


def test_no_link_that_comes_into_a_workspace_is_followed(
    source: BackupPaths, tmp_path: Path
) -> None:
    """A command may put one there while the backup is made."""
    (tmp_path / "server").mkdir()
    for place in (source.workspaces / "sub", tmp_path / "server"):
        place.mkdir(exist_ok=True)
        for number in range(50):
            (place / f"{number}.txt").write_text(place.name)
    (source.workspaces / "link").symlink_to(tmp_path / "server")
    with exchanging(source.workspaces / "sub", source.workspaces / "link"):
        for _ in range(5):
            write_backup(source, tmp_path / "backup.tar.gz")
            with tarfile.open(tmp_path / "backup.tar.gz") as archive:
                files = [archive.extractfile(one) for one in archive if one.isreg()]
                assert b"server" not in [file.read() for file in files if file]


def test_a_backup_that_can_not_be_made_leaves_nothing(source: BackupPaths, tmp_path: Path) -> None:
    """Half a backup would be taken for one."""
    source.database.write_bytes(b"not a database at all, whatever its name says")
    target = tmp_path / "backups"
    target.mkdir()
    with pytest.raises(sqlite3.Error):
        write_backup(source, target / "backup.tar.gz")
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("cut", [0.1, 0.9])
def test_a_cut_archive_is_refused(source: BackupPaths, tmp_path: Path, cut: float) -> None:
    """A disk was full, or a download broke off."""
    path = tmp_path / "backup.tar.gz"
    write_backup(source, path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * cut)])
    with pytest.raises(BadArchive, match="backup"):
        restored(path, tmp_path / "out")


def rewritten(path: Path, name: str, content: bytes | None, to: str = "") -> None:
    """Change one file of an archive, or take it out."""
    with tarfile.open(path) as archive:
        parts = [(one, archive.extractfile(one)) for one in archive if one.isreg()]
        files = [(one.name, file.read() if file else b"") for one, file in parts]
    with tarfile.open(path, "w:gz") as archive:
        for old, data in files:
            if old == name and content is None:
                continue
            info = tarfile.TarInfo(to if old == name and to else old)
            new = content if old == name and content is not None else data
            info.size = len(new)
            archive.addfile(info, io.BytesIO(new))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("workspaces/notes/plan.txt", b"Shop it.", "plan.txt is not what was put in"),
        ("workspaces/notes/plan.txt", None, "plan.txt is not what was put in"),
        ("backup.json", None, "not a whole one"),
        ("backup.json", b"{}", "no backup"),
        ("backup.json", b"[", "damaged, or no backup"),
        ("backup.json", json.dumps({"format": 9, "files": {}}).encode(), "newer version"),
        ("backup.json", json.dumps({"format": 1, "files": {}}).encode(), "no database"),
    ],
)
def test_a_changed_archive_is_refused(
    source: BackupPaths, tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    """What was put in is named by its hash, and nothing else is taken."""
    path = tmp_path / "backup.tar.gz"
    write_backup(source, path)
    rewritten(path, name, content)
    with pytest.raises(BadArchive, match=said):
        restored(path, tmp_path / "out")


def test_no_archive_writes_outside(source: BackupPaths, tmp_path: Path) -> None:
    """A name with .. in it is left out, so the file is missing and the archive refused."""
    path = tmp_path / "backup.tar.gz"
    write_backup(source, path)
    rewritten(path, "workspaces/notes/plan.txt", b"Ship it.", to="../outside.txt")
    with pytest.raises(BadArchive, match="not what was put in"):
        restored(path, tmp_path / "out")
    assert not (tmp_path / "outside.txt").exists()


def test_what_was_there_is_moved_aside(source: BackupPaths, tmp_path: Path) -> None:
    """The journal too: with a foreign one beside it, the new database would be corrupted."""
    path = tmp_path / "backup.tar.gz"
    write_backup(BackupPaths(source.database, source.workspaces), path)
    folder = restored(path, tmp_path / "out")
    journal = source.database.with_name(f"{DATABASE}-wal")
    journal.write_bytes(b"old")
    (source.workspaces / "notes" / "plan.txt").write_text("Changed since.")
    put_in_place(folder, source, tmp_path / "aside")
    assert not journal.exists()
    assert pairs(source.database) == [0, 0]
    assert (source.workspaces / "notes" / "plan.txt").read_text() == "Ship it."
    assert (tmp_path / "aside" / journal.name).read_bytes() == b"old"
    assert (tmp_path / "aside" / WORKSPACES / "notes" / "plan.txt").read_text() == "Changed since."
    assert source.key
    assert source.key.read_text() == "secret"


def test_where_something_can_not_be_moved_all_is_as_it_was(
    source: BackupPaths, tmp_path: Path
) -> None:
    """The database, which goes first, goes back; and the folder of workspaces may be a volume."""
    write_backup(source, path := tmp_path / "backup.tar.gz")
    with closing(sqlite3.connect(source.database, autocommit=True)) as database:
        database.execute("INSERT INTO pair VALUES (1)")
    there, volume = source.workspaces / "notes", source.workspaces.stat().st_ino
    (there / "plan.txt").write_text("Changed since.")
    assert source.key
    lost = replace(source, key=source.key / "no-folder")
    with pytest.raises(OSError, match=r"no-folder|File exists|Not a directory"):
        put_in_place(restored(path, tmp_path / "out"), lost, tmp_path / "aside")
    assert pairs(source.database) == [0, 0, 1]
    assert (there / "plan.txt").read_text() == "Changed since."
    put_in_place(restored(path, tmp_path / "again"), source, tmp_path / "before")
    assert pairs(source.database) == [0, 0]
    assert (there / "plan.txt").read_text() == "Ship it."
    assert source.workspaces.stat().st_ino == volume


def database_with(folder: Path, *migrations: str) -> Path:
    """Return a database to which these migrations were applied."""
    path = folder / "palimpsest.sqlite3"
    with closing(sqlite3.connect(path, autocommit=True)) as database:
        database.execute("CREATE TABLE django_migrations (app TEXT, name TEXT)")
        rows = [("chatapp", name) for name in migrations]
        database.executemany("INSERT INTO django_migrations VALUES (?, ?)", rows)
        database.execute("CREATE TABLE page (number INTEGER CHECK (number > 0))")
    return path


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """What it does not know it could not keep; an older one is taken, squashed since or not."""
    path = database_with(tmp_path, "0001_initial", "9999_better")
    with pytest.raises(BadArchive, match=r"newer version, which has 9999_better\.$"):
        check_database(path)
    path.unlink()
    check_database(database_with(tmp_path, "0001_initial", "0042_source_importer"))


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
