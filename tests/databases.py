"""The tests' database: migrated once, copied for each process, emptied after a test."""

import hashlib
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import connection, connections, transaction

from chatapp.models.databases import Options, in_use, opened
from tests import postgresql
from tests.first_start import Once

# As a server names it.
FILE = "palimpsest.sqlite3"
TEMPLATE = "palimpsest_template"
# Rows that migrations make, and no test changes.
MADE_BY_DJANGO = {"django_migrations", "django_content_type", "auth_permission", "django_site"}


def migrated(once: Once, kept: Once) -> Path:
    """Return a folder with a migrated database; PostgreSQL has a template, and the folder nothing.

    A file is kept for further runs, until a migration or a model changes.
    """
    if connection.vendor != "sqlite":
        return once.make("database", _migrate_template)
    return kept.make(_digest(), _migrate_file)


def _digest() -> str:
    """Return what differs for each state of the models and migrations of all apps."""
    found = hashlib.sha256()
    for app in apps.get_app_configs():
        for pattern in ("migrations/*.py", "models.py", "models/**/*.py"):
            for path in sorted(Path(app.path).glob(pattern)):
                found.update(path.read_bytes())
    return found.hexdigest()


def prepare(template: Path, folder: Path) -> None:
    """Have the tests of this process use a copy of a migrated database.

    SQLite's is a file, as the server's is, so that readers and writers share one: in memory,
    Django's way to share it has a reader fail where somebody writes.
    """
    own = connections.settings["default"]
    if connection.vendor == "sqlite":
        own["TEST"]["NAME"] = str(Path(shutil.copy(template / FILE, folder)))
    else:
        own["TEST"]["TEMPLATE"] = TEMPLATE


def _migrate_file(folder: Path) -> None:
    folder.mkdir()
    _migrate({**connection.settings_dict, "NAME": folder / FILE})


def _migrate_template(folder: Path) -> None:
    folder.mkdir()
    own = connection.settings_dict
    server = f"postgresql://{own['USER']}:{own['PASSWORD']}@{own['HOST']}:{own['PORT'] or 5432}"
    postgresql.make(server, TEMPLATE)
    _migrate({**own, "NAME": TEMPLATE})


def _migrate(options: Options) -> None:
    with opened(options) as database, in_use(database):
        call_command("migrate", verbosity=0)


@cache
def _tables() -> tuple[str, ...]:
    return tuple(sorted({*connection.introspection.django_table_names()} - MADE_BY_DJANGO))


def empty() -> None:
    """Delete all rows of the tables that have some."""
    quote: Callable[[str], str] = connection.ops.quote_name
    asked = " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {quote(name)})"  # noqa: S608 - Django's names
        for name in _tables()
    )
    with connection.cursor() as cursor:
        cursor.execute(asked)
        filled = [name for (name,) in cursor.fetchall()]
        if filled:
            # Keys are checked at the end, in whatever order rows go.
            with transaction.atomic():
                for name in filled:
                    cursor.execute(f"DELETE FROM {quote(name)}")  # noqa: S608 - Django's names
