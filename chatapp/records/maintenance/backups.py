"""Backups: a server's data in one file, made while the server runs.

A backup is a gzipped tar archive: ``palimpsest.sqlite3`` (as it was at one moment; PostgreSQL's
rows are copied to such a file), the workspaces below ``workspaces/``, the keys on request, and at
the end ``backup.json``, which names the SHA-256 of every other file.
"""

import contextlib
import errno
import fcntl
import gzip
import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from chatapp.models.database import is_shared
from chatapp.models.errors import BadArchive
from chatapp.project.environment import database_problem
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import row_copy
from condense import open_file

# The newest form of archive that can be read.
ARCHIVE_FORMAT = 1
DATABASE, KEY, WORKSPACES = "palimpsest.sqlite3", "secret-key", "workspaces"
SEAL_KEY = "seal-key"
_CONTENTS = "backup.json"
# Bytes of a name: a restore needs room for a folder before it.
_LONGEST = 3_000
# The beginning of names of files that a backup needs while it is made.
_DRAFT = ".palimpsest-backup-"


@dataclass(frozen=True, slots=True)
class BackupPaths:
    """The paths of a backup's parts; a key is None if it stays out."""

    database: Path | None  # None if it is no file
    workspaces: Path
    key: Path | None = None  # None if it stays out
    seal_key: Path | None = None  # made with the first seal


def stored(*, with_key: bool) -> BackupPaths:
    """Return the paths of this server's own parts."""
    folder = Path(settings.DATA_DIR)
    return BackupPaths(
        database=None if is_shared() else Path(str(connection.settings_dict["NAME"])),
        workspaces=Path(settings.WORKSPACES_ROOT),
        key=folder / KEY if with_key else None,
        seal_key=folder / SEAL_KEY if with_key else None,
    )


def holds_key(path: Path) -> bool:
    """Return True if the secret key in use is the one in this file, not one from SECRET_KEY."""
    return path.exists() and path.read_text("utf-8", "replace").strip() == settings.SECRET_KEY


@dataclass(slots=True)
class Backup:
    """The contents of a backup."""

    files: dict[str, str] = field(default_factory=dict)  # with their SHA-256
    left_out: list[str] = field(default_factory=list)  # with the reason
    damage: str = ""  # of the database's file, which is not in it


def write_backup(source: BackupPaths, path: Path) -> Backup:
    """Write a backup to ``path``, readable by its owner only, complete or not at all.

    Raises OSError, sqlite3.Error, DatabaseError or NotCopied, with nothing left behind, if it can't
    be written. Remains of a killed backup in that folder are removed first.
    """
    backup = Backup()
    for left in path.parent.glob(f"{_DRAFT}*"):
        if left.suffix:
            continue
        # A process that is still at work holds its draft.
        with contextlib.suppress(OSError), left.open("rb") as there:
            fcntl.flock(there, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for one in (left, *path.parent.glob(f"{left.name}.*")):
                one.unlink(missing_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=_DRAFT)
    held = os.dup(descriptor)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        with (
            os.fdopen(descriptor, "wb") as file,
            gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6) as zipped,
            tarfile.open(fileobj=zipped, mode="w|") as archive,
        ):
            _fill(_ArchiveWriter(archive, backup), source, Path(draft))
        with Path(draft).open("rb") as written:
            # On the disk before it gets its name, which must never stand for half of it.
            os.fsync(written.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    finally:
        os.close(held)
    return backup


def _fill(writer: "_ArchiveWriter", source: BackupPaths, draft: Path) -> None:
    snapshot = draft.with_name(f"{draft.name}.sqlite3")
    try:
        # SQLite would make it readable by others.
        snapshot.touch(mode=0o600, exist_ok=False)
        if source.database is None:
            row_copy.write_file(snapshot)
        else:
            _copy_file(source.database, snapshot, writer.backup)
        writer.add(snapshot.resolve(), DATABASE)
    finally:
        for one in draft.parent.glob(f"{snapshot.name}*"):
            one.unlink(missing_ok=True)
    if source.key:
        writer.add(source.key.resolve(), KEY)
    if source.seal_key and source.seal_key.exists():
        writer.add(source.seal_key.resolve(), SEAL_KEY)
    workspaces = source.workspaces.resolve()
    for root, folders, names in os.walk(workspaces):
        folders.sort()
        # Files and links, never the target of a link.
        links = [name for name in folders if (Path(root) / name).is_symlink()]
        for file in [Path(root) / name for name in sorted([*names, *links])]:
            writer.add(file, f"{WORKSPACES}/{file.relative_to(workspaces)}")
    writer.close()


def _copy_file(original: Path, snapshot: Path, backup: Backup) -> None:
    """Copy a database as it is at one moment; writers go on meanwhile."""
    # Of a damaged file the rows are copied, into a sound one: only indexes may be damaged.
    if problem := database_problem(original):
        raise BadArchive(problem)
    with (
        closing(sqlite3.connect(f"{original.absolute().as_uri()}?mode=ro", uri=True)) as database,
        closing(sqlite3.connect(snapshot)) as copy,
    ):
        database.backup(copy)
        damage = first_damage(copy)
    if damage:
        snapshot.write_bytes(b"")
        row_copy.write_file(snapshot)
        backup.damage = damage


class _ArchiveWriter:
    """An archive while it is written, with the hash of each file."""

    def __init__(self, archive: tarfile.TarFile, backup: Backup) -> None:
        self.archive = archive
        self.backup = backup

    def add(self, path: Path, name: str) -> None:
        """Add a file or a link; one that is gone, or is neither, is left out."""
        try:
            if len(os.fsencode(name)) > _LONGEST:
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
            # A socket has none.
            info: tarfile.TarInfo | None = self.archive.gettarinfo(path, name)
            if info and info.issym():
                self.archive.addfile(info)
            elif info and (info.isreg() or info.islnk()):
                # Its size is the bytes read: a command may be writing it, or put a link there.
                with open_file(path) as file, tempfile.TemporaryFile() as copy:
                    shutil.copyfileobj(file, copy)
                    info.type, info.linkname, info.size = tarfile.REGTYPE, "", copy.tell()
                    copy.seek(0)
                    self.backup.files[name] = hashlib.file_digest(copy, "sha256").hexdigest()
                    copy.seek(0)
                    self.archive.addfile(info, copy)
            else:
                self.backup.left_out.append(_("{name}: not a file", name=name))
        except OSError as error:
            if name in {DATABASE, KEY}:
                raise
            self.backup.left_out.append(f"{name}: {error.strerror}")

    def close(self) -> None:
        """Write the table of contents."""
        text = json.dumps({"format": ARCHIVE_FORMAT, "files": self.backup.files}).encode()
        info = tarfile.TarInfo(_CONTENTS)
        info.size = len(text)
        self.archive.addfile(info, io.BytesIO(text))


def unpack(path: Path, folder: Path) -> Backup:
    """Unpack a backup into an empty folder, and check every file against its hash.

    Entries and links that lead outside the folder are left out. Raises BadArchive, and OSError if
    the folder can't be written.
    """
    backup = Backup()
    try:
        with tarfile.open(path, mode="r:gz") as archive:
            for member in archive:
                try:
                    archive.extract(member, folder, filter="data")
                except tarfile.FilterError as error:
                    backup.left_out.append(str(error))
        contents = json.loads((folder / _CONTENTS).read_bytes())
        backup.files = dict(contents["files"])
        newer = contents["format"] > ARCHIVE_FORMAT
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError) as error:
        said = _("{path} is damaged, or no backup: {error}.", path=path, error=error)
        raise BadArchive(said) from error
    except (FileNotFoundError, KeyError, TypeError) as error:
        raise BadArchive(_("{path} is no backup, or not a whole one.", path=path)) from error
    if newer:
        raise BadArchive(_("{path} was made by a newer version. Update this one first.", path=path))
    for name, expected in backup.files.items():
        try:
            with (folder / name).open("rb") as file:
                sound = hashlib.file_digest(file, "sha256").hexdigest() == expected
        except OSError:
            sound = False
        if not sound:
            said = _("{path} is damaged: {name} is not what was put in.", path=path, name=name)
            raise BadArchive(said)
    if DATABASE not in backup.files:
        raise BadArchive(_("{path} holds no database.", path=path))
    return backup


def own_folder(name: str) -> Path:
    """Return a folder of ``DATA_DIR``, which is made if it is missing."""
    there = Path(settings.DATA_DIR) / name
    there.mkdir(mode=0o700, exist_ok=True)
    return there


def dated_file(folder: str, suffix: str) -> Path:
    """Return the path of a new file in a folder of ``DATA_DIR``."""
    return own_folder(folder) / f"{timezone.now():%Y-%m-%d-%H%M%S}{suffix}"


def newer_migrations(applied: Iterable[tuple[str, str]]) -> list[str]:
    """Return the migrations that only a newer version of this software has."""
    # Their numbers grow: an unknown name that comes earlier is of an older version.
    known = MigrationLoader(None).disk_migrations
    replaced = {key for migration in known.values() for key in migration.replaces}
    newest = max(name for app, name in {*known, *replaced} if app == "chatapp")
    return sorted(name for app, name in applied if app == "chatapp" and name > newest)


def first_damage(database: Any) -> str:
    """Return the first damage that SQLite finds in a connection's file, or ""."""
    # Asked for more, it fails at some damage before it has told of any.
    ((said,),) = database.execute("PRAGMA integrity_check(1)").fetchall()
    return "" if said == "ok" else str(said).splitlines()[-1]


def check_database(path: Path) -> None:
    """Raise BadArchive if the file is damaged, or made by a newer version of this software."""
    try:
        with closing(sqlite3.connect(path)) as database:
            damage = first_damage(database)
            applied = database.execute("SELECT app, name FROM django_migrations").fetchall()
    except sqlite3.Error as error:
        raise BadArchive(_("The database in it can't be read: {error}.", error=error)) from error
    if damage:
        raise BadArchive(_("The database in it is damaged: {damage}.", damage=damage))
    if newer := newer_migrations(applied):
        raise BadArchive(_("It was made by a newer version, which has {name}.", name=newer[0]))


def put_in_place(folder: Path, target: BackupPaths, aside: Path) -> None:
    """Move unpacked files to their places, and the files there into the new folder ``aside``.

    A key that the backup does not hold stays as it is. If something can't be moved, all goes back.
    """
    aside.mkdir(mode=0o700)
    keys = ((KEY, target.key), (SEAL_KEY, target.seal_key))
    held = [(name, place) for name, place in keys if (folder / name).exists()]
    with contextlib.ExitStack() as back:

        def move(one: Path, to: Path) -> None:
            # A folder stays, as it may be a volume.
            inner = [(each, to / each.name) for each in one.iterdir()] if one.is_dir() else []
            for old, new in inner or [(one, to)] * one.is_file():
                new.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(old, new)
                back.callback(shutil.move, new, old)

        for name, place in ((DATABASE, target.database), (WORKSPACES, target.workspaces), *held):
            if place is None:
                continue
            for end in ("", "-wal", "-shm"):
                move(place.with_name(place.name + end), aside / (place.name + end))
            move(folder / name, place)
        back.pop_all()
