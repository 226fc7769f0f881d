"""Further databases: opened for a while, and used by all code as if they were the main one.

Their tables are those of all models, Django's own included.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, cast

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import DEFAULT_DB_ALIAS, connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler

from chatapp.models.database import execute, forget_columns, is_shared

# A file that nobody uses before it is complete needs no journal.
_DRAFT = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"

Options = Mapping[str, Any]
type Column = "models.Field[Any, Any]"


def draft_at(path: Path) -> Options:
    """Return the settings of a file that is discarded if its making fails."""
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
    """Use this database for all that this thread reads and writes until the block's end."""
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
    """Yield the rows of a statement; one row at a time is held in memory."""
    with database.wrap_database_errors, database.cursor() as cursor:
        if database.vendor == "sqlite":
            cursor.execute(sql)
            yield from cursor
        else:
            # Psycopg's cursors hold all rows, except with this method.
            yield from cursor.stream(sql)


def name_of(database: BaseDatabaseWrapper) -> str:
    """Return a database's name for people, without its password."""
    where = database.settings_dict
    if database.vendor == "sqlite":
        return str(where["NAME"])
    user = f"{where['USER']}@" if where["USER"] else ""
    port = f":{where['PORT']}" if where["PORT"] else ""
    return f"postgresql://{user}{where['HOST']}{port}/{where['NAME']}"


_LAST_VALUE = """
    SELECT last_value FROM pg_sequences
    WHERE to_regclass(format('%%I.%%I', schemaname, sequencename))
    = to_regclass(pg_get_serial_sequence(%s, %s))
"""


@dataclass(frozen=True)
class ModelTable:
    """The table of a model in the database in use, as migrations of its ``app`` make it."""

    model: type[models.Model]
    name: str
    app: str
    columns: list[Column]  # in their order
    key: Column  # one of them

    @property
    def is_made_by_django(self) -> bool:
        """True if `migrate` fills it."""
        return self.model in {ContentType, Permission}

    def count(self) -> int:
        """Return the number of its rows."""
        return cast(int, execute(f'SELECT count(*) FROM "{self.name}"')[0][0])  # noqa: S608 - a name

    def last_key(self) -> int | None:
        """Return the largest number that was ever a key, that of a deleted row too; or None."""
        if not isinstance(self.key, models.AutoField):
            return None
        if is_shared():
            given = execute(_LAST_VALUE, self.name, self.key.column)
        else:
            given = execute("SELECT seq FROM sqlite_sequence WHERE name = %s", self.name)
        there = execute(f'SELECT max("{self.key.column}") FROM "{self.name}"')  # noqa: S608 - names
        return max([one for (one,) in (*given, *there) if one is not None], default=None)

    def go_on_from(self, key: int) -> None:
        """Give later rows larger keys than this."""
        if is_shared():
            sql = "SELECT setval(pg_get_serial_sequence(%s, %s), %s)"
            execute(sql, self.name, self.key.column, key)
            return
        execute("DELETE FROM sqlite_sequence WHERE name = %s", self.name)
        execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", self.name, key)


def tables() -> list[ModelTable]:
    """Return the table of each model that we make it of, after those that its rows name."""
    own = {one: one._meta for one in apps.get_models(include_auto_created=True)}  # noqa: SLF001 - Django's documented API
    made = {
        model: ModelTable(model, one.db_table, one.app_label, [*one.concrete_fields], one.pk)
        for model, one in own.items()
        if one.managed and not one.proxy
    }
    named: dict[Any, list[Any]] = {
        model: [
            one.related_model for one in table.columns if one.related_model not in {None, model}
        ]
        for model, table in made.items()
    }
    return [made[one] for one in TopologicalSorter(named).static_order()]
