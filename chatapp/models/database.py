"""Concurrent reads, and the statements of every message: Django takes longer to make them.

Rare queries are Django's. SQL written by hand stands in the module of its model, and works on
PostgreSQL as well.
"""

import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cache, partial
from operator import itemgetter
from threading import Event
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.db import (
    DEFAULT_DB_ALIAS,
    connection,
    connections,
    models,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

# Seconds between two pieces of something large.
LONGEST_PAUSE = 0.2

# Ends what is done in pieces in this context.
STOP = ContextVar[Event | None]("stop", default=None)

# PostgreSQL's code for what would have to wait.
LOCK_NOT_AVAILABLE = "55P03"

# Each keeps a connection of its own, for as long as the process runs.
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="reading")

_COLUMNS: dict[type, "models.Field[Any, Any]"] = {
    uuid.UUID: models.UUIDField(),
    datetime: models.DateTimeField(),
}


# What makes a model's row of a part of what was selected: by what name it is set on the first one,
# the model and its fields, where its key and its values stand, and what converts some of these.
_Reader = tuple[str, type[models.Model], list[str], Any, Any, list[Any]]


def reading[**P, T](read: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Make a reading function awaitable: it waits for no write, and sees all that is committed."""
    return sync_to_async(read, thread_sensitive=False, executor=_THREADS)


def select[M: models.Model](
    model: type[M], sql: str, *values: Any, **related: type[models.Model]
) -> list[M]:
    """Return the rows of a model that a statement finds; further columns become attributes.

    All columns of the model come first, then those of its ``related`` rows in their order: if a
    join found no such row, the attribute is not set.
    """
    # Asked for once: each use of Django's ``connection`` looks the thread's own one up.
    database = connections[DEFAULT_DB_ALIAS]
    with database.cursor() as cursor:
        cursor.execute(sql, _as_columns(values, database))
        columns = tuple([one[0] for one in cursor.description])
        rows = cursor.fetchall()
    readers, rest = _readers((("", model), *related.items()), columns)
    found = []
    for row in rows:
        own: Any = None
        for name, kind, fields, key, values_of, converters in readers:
            if row[key] is None:
                continue
            stored = [*values_of(row)]
            for place, convert, column in converters:
                stored[place] = convert(stored[place], column, database)
            made = kind.from_db(database.alias, fields, stored)
            if own is None:
                own = made
            else:
                setattr(own, name, made)
        for place in rest:
            setattr(own, columns[place], row[place])
        found.append(own)
    return found


@cache
def _readers(
    related: tuple[tuple[str, type[models.Model]], ...], columns: tuple[str, ...]
) -> tuple[list[_Reader], range]:
    """Return the readers of the models' columns, and the places of the columns that follow."""
    readers, begin = [], 0
    for name, model in related:
        own = model._meta  # noqa: SLF001 - Django's documented API
        places, converters = [], []
        for at, one in enumerate(own.concrete_fields):
            places.append(columns.index(one.column, begin))
            column = one.get_col(own.db_table)
            backend = connection.ops.get_db_converters(column)
            own_ones = one.get_db_converters(connection)
            converters += [(at, convert, column) for convert in (*backend, *own_ones)]
        fields = [one.attname for one in own.concrete_fields]
        key = columns.index(own.pk.column, begin)
        readers.append((name, model, fields, key, itemgetter(*places), converters))
        begin += len(fields)
    return readers, range(begin, len(columns))


def forget_columns() -> None:
    """Forget the models' columns, before another kind of database is used."""
    _readers.cache_clear()


def execute(sql: str, *values: Any) -> list[Any]:
    """Run a statement, and return its rows as the database has them, if any."""
    database = connections[DEFAULT_DB_ALIAS]
    with database.cursor() as cursor:
        cursor.execute(sql, _as_columns(values, database))
        return cursor.fetchall() if cursor.description else []


def lock(model: type[models.Model], *pks: object) -> None:
    """Have others that lock these rows wait for the commit; SQLite lets one write at a time anyway.

    Lock conversations first, and users last. A row that names one of these is stored meanwhile.
    """
    if not connection.features.has_select_for_update:
        return
    own = model._meta  # noqa: SLF001 - Django's documented API
    places = ", ".join(["%s"] * len(pks))
    rows = f'SELECT 1 FROM "{own.db_table}" WHERE "{own.pk.column}" IN ({places})'  # noqa: S608 - names of tables and columns
    execute(f'{rows} ORDER BY "{own.pk.column}" FOR NO KEY UPDATE', *pks)


def locking() -> str:
    """Return the end of a query that locks its rows as ``lock`` does."""
    return " FOR NO KEY UPDATE" if connection.features.has_select_for_update else ""


class Stopped(Exception):
    """Work in pieces was stopped between two of them."""


def go_on() -> None:
    """Raise Stopped once the work in this context is to stop."""
    if (stop := STOP.get()) and stop.is_set():
        raise Stopped


@contextmanager
def piece() -> Iterator[None]:
    """Write a piece of something large in one transaction, and let others write after it.

    A writer that waits for a lock of SQLite tries it now and then only: the pause is as long as the
    piece took.
    """
    go_on()
    began = time.monotonic()
    with transaction.atomic():
        yield
    time.sleep(min(time.monotonic() - began, LONGEST_PAUSE))


@contextmanager
def reading_damaged_text() -> Iterator[None]:
    """Read undecodable text of SQLite with U+FFFD in it, so that a check can report it."""
    if is_shared():
        yield
        return
    connection.ensure_connection()
    opened, lenient = connection.connection, partial(str, encoding="utf-8", errors="replace")
    before, opened.text_factory = opened.text_factory, lenient
    try:
        yield
    finally:
        opened.text_factory = before


def is_shared() -> bool:
    """Return True if other processes, on other machines, may work on this database."""
    return connection.vendor != "sqlite"


def now() -> datetime:
    """Return the time by the clock that all processes on this database share."""
    if not is_shared():
        return timezone.now()
    ((moment,),) = execute("SELECT clock_timestamp()")
    return cast(datetime, moment)


def clock() -> str:
    """Return the SQL for ``now`` in a statement with values."""
    return "clock_timestamp()" if is_shared() else "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')"


def insert[M: models.Model](row: M) -> M:
    """Store a new row, and return it; as ``save`` does, but for signals and parents."""
    fields, sql = _insertion(type(row))
    database = connections[DEFAULT_DB_ALIAS]
    values = [one.get_db_prep_save(one.pre_save(row, add=True), database) for one in fields]
    with database.cursor() as cursor:
        cursor.execute(sql, values)
        if row.pk is None:
            (row.pk,) = cursor.fetchone()
    row._state.adding, row._state.db = False, database.alias  # noqa: SLF001 - Django's documented API
    return row


@cache
def _insertion(model: type[models.Model]) -> "tuple[list[models.Field[Any, Any]], str]":
    """Return the columns of a new row, and the statement that takes them in this order."""
    own = model._meta  # noqa: SLF001 - Django's documented API
    fields = [one for one in own.concrete_fields if not isinstance(one, models.AutoField)]
    columns = ", ".join([f'"{one.column}"' for one in fields])
    places = ", ".join(["%s"] * len(fields))
    key = f'RETURNING "{own.pk.column}"'
    return fields, f'INSERT INTO "{own.db_table}" ({columns}) VALUES ({places}) {key}'  # noqa: S608 - names of columns


def _as_columns(values: tuple[Any, ...], database: BaseDatabaseWrapper) -> list[Any]:
    return [
        _COLUMNS[type(one)].get_db_prep_value(one, database) if type(one) in _COLUMNS else one
        for one in values
    ]
