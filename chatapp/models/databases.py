"""Databases beside the one in use: opened for a while, and worked in as if they were it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler

from chatapp.models.database import execute, forget_columns, is_shared

# A file that nobody uses before it is complete needs no journal.
_DRAFT = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"

Options = Mapping[str, Any]


def draft_at(path: Path) -> Options:
    """Return the settings of a file that is given up where its making fails."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {"init_command": _DRAFT},
    }


@contextmanager
def opened(options: Options) -> Iterator[BaseDatabaseWrapper]:
    """Lend a connection to the database with these of Django's settings, apart from any pool."""
    own = {name: one for name, one in options.get("OPTIONS", {}).items() if name != "pool"}
    handler = ConnectionHandler({DEFAULT_DB_ALIAS: {**options, "OPTIONS": own}})
    database = handler[DEFAULT_DB_ALIAS]
    try:
        yield database
    finally:
        database.close()


@contextmanager
def in_use(database: BaseDatabaseWrapper) -> Iterator[None]:
    """Have all that this thread reads and writes meanwhile be in this database."""
    before = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = database
    forget_columns()
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = before
        forget_columns()


@contextmanager
def snapshot() -> Iterator[None]:
    """Read all as it is at one moment, however long that takes.

    Others write to PostgreSQL meanwhile; those who would write to a file wait.
    """
    with transaction.atomic(durable=True):
        if is_shared():
            execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def rows_of(database: BaseDatabaseWrapper, sql: str) -> Iterator[tuple[Any, ...]]:
    """Yield what a statement selects: one row at a time is held, however many there are."""
    with database.wrap_database_errors, database.cursor() as cursor:
        if database.vendor == "sqlite":
            cursor.execute(sql)
            yield from cursor
        else:
            # Psycopg's cursors hold all rows, this method aside.
            yield from cursor.stream(sql)


def name_of(database: BaseDatabaseWrapper) -> str:
    """Return how a person knows a database; without its password."""
    where = database.settings_dict
    if database.vendor == "sqlite":
        return str(where["NAME"])
    user = f"{where['USER']}@" if where["USER"] else ""
    port = f":{where['PORT']}" if where["PORT"] else ""
    return f"postgresql://{user}{where['HOST']}{port}/{where['NAME']}"
