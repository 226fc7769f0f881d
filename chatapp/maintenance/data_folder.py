"""Where this server keeps what must survive, and whether a database fits this version."""

import sqlite3
from contextlib import closing
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from chatapp.maintenance.backups import KEY, SEAL_KEY, BadArchive, Source


def stored(*, with_key: bool) -> Source:
    """Return where the parts of a backup lie; raise CommandError where it is no file."""
    if connection.vendor != "sqlite":
        raise CommandError(f"This server keeps its data in {connection.vendor}: use its own tools.")
    return Source(
        database=Path(str(connection.settings_dict["NAME"])),
        workspaces=Path(settings.WORKSPACES_ROOT),
        key=Path(settings.DATA_DIR) / KEY if with_key else None,
        seal_key=Path(settings.DATA_DIR) / SEAL_KEY if with_key else None,
    )


def holds_key(path: Path) -> bool:
    """Whether the secret key in use is the one in this file, and none that SECRET_KEY sets."""
    return path.exists() and path.read_text("utf-8", "replace").strip() == settings.SECRET_KEY


def check_database(path: Path) -> None:
    """Raise BadArchive where the file is damaged, or made by a newer version of this software."""
    known = {name for app, name in MigrationLoader(None).disk_migrations if app == "chatapp"}
    try:
        with closing(sqlite3.connect(path)) as database:
            (said,) = database.execute("PRAGMA integrity_check(1)").fetchone()
            applied = {
                name
                for (name,) in database.execute(
                    "SELECT name FROM django_migrations WHERE app = 'chatapp'"
                )
            }
    except sqlite3.Error as error:
        raise BadArchive(f"The database in it can't be read: {error}.") from error
    if said != "ok":
        raise BadArchive(f"The database in it is damaged: {said}.")
    if newer := sorted(applied - known):
        raise BadArchive(f"It was made by a newer version, which has {newer[0]}.")
