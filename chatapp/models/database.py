"""Concurrent reads, and the statements of every message: Django takes longer to make them.

Rare queries are Django's. SQL written by hand stands in the module of its model, and works on
PostgreSQL as well.
"""

import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial, update_wrapper
from operator import itemgetter
from threading import Event
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, connection, connections, models, transaction
from django.db.models.base import ModelState
from django.utils import timezone

# Seconds between two pieces of something large.
LONGEST_PAUSE = 0.2

# Ends work that is done in pieces in this context.
STOP = ContextVar[Event | None]("stop", default=None)

# PostgreSQL's code for a lock that is held by another transaction.
LOCK_NOT_AVAILABLE = "55P03"

_executors = list[ThreadPoolExecutor]()


def threads(number: int, name: str) -> ThreadPoolExecutor:
    """Return threads that each keep a connection for as long as they often need it."""
    _executors.append(made := ThreadPoolExecutor(number, thread_name_prefix=name))
    return made


_THREADS = threads(2, "reading")
_RECOVERY = ThreadPoolExecutor(1, thread_name_prefix="recovery")

_COLUMNS: dict[type, "models.Field[Any, Any]"] = {
    uuid.UUID: models.UUIDField(),
    datetime: models.DateTimeField(),
}


# A model's part of a selected row: its attribute on the first model's object, the model and its
# fields, the places of its key and values, and converters for some of these.
_Reader = tuple[str, type[models.Model], list[str], Any, Any, list[Any]]


def _call[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return work(*args, **kwargs)


def _search[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return work(*args, **kwargs)
    finally:
        if is_shared():
            connection.close()


# Made once: asgiref examines each function that it wraps, which takes as long as a query.
_READ = sync_to_async(_call, thread_sensitive=False, executor=_THREADS)
_RECOVER = sync_to_async(_search, thread_sensitive=False, executor=_RECOVERY)
_WRITE = sync_to_async(_call)


def reading[**P, T](read: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Make a reading function awaitable: it waits for no write, and sees all that is committed."""
    return partial(_READ, read)


def recovering[**P, T](work: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Make a search for abandoned work awaitable, without a delay of any other work.

    It is rare, so that no connection is kept for the next one.
    """
    return partial(_RECOVER, work)


def writing[**P, T](write: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Make a writing function awaitable: all of them run one after the other, on one thread."""
    return partial(_WRITE, write)


async def give_back_idle() -> None:
    """Have threads return the connections to the pool that they did not use since the last call."""
    if is_shared():
        for executor in _executors:
            executor.submit(_give_back_idle)
        await writing(_give_back_idle)()


def _give_back_idle() -> None:
    database: Any = connections[DEFAULT_DB_ALIAS]
    database.close_if_idle()


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """A statement with its values; ``take`` makes the result of its columns and rows.

    SQLite may have none for it; then ``sql`` is "", and the result None.
    """

    sql: str
    values: Sequence[Any] = ()
    take: Callable[[tuple[str, ...], list[Any]], Any] = lambda _columns, rows: rows


def together(*statements: SqlStatement | Callable[[], SqlStatement]) -> list[Any]:
    """Run statements in one round trip, and return the result of each.

    A function makes its statement when those before it were run; to PostgreSQL all go at once.
    """
    # Asked for once: each use of Django's ``connection`` looks the thread's own one up.
    database, found = connections[DEFAULT_DB_ALIAS], list[Any]()
    pieces = [[one] for one in statements] if database.vendor == "sqlite" else [[*statements]]
    with database.cursor() as cursor:
        for piece_ in filter(None, pieces):
            made = [one if isinstance(one, SqlStatement) else one() for one in piece_]
            if not made[0].sql:
                found.append(None)
                continue
            values = [value for one in made for value in one.values]
            for at, value in enumerate(values):
                if column := _COLUMNS.get(type(value)):
                    values[at] = column.get_db_prep_value(value, database)
            cursor.execute("; ".join([one.sql for one in made]), values)
            for number, one in enumerate(made):
                if number:
                    cursor.nextset()
                columns = tuple([column[0] for column in cursor.description or ()])
                found.append(one.take(columns, cursor.fetchall() if columns else []))
    return found


class StatementFunction[**P]:
    """A function that makes a statement, and runs it when called.

    Its ``query`` is that statement, to be run with others.
    """

    def __init__(self, query: Callable[P, SqlStatement]) -> None:
        self.query = query
        update_wrapper(self, query)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run the statement, and return its result."""
        return together(self.query(*args, **kwargs))[0]

    def __get__(self, instance: object, _owner: object = None) -> "StatementFunction[...]":
        """Return it for a row, as a method."""
        return StatementFunction(partial(self.query, instance))  # type: ignore[arg-type] # the first argument


def execute(sql: str, *values: Any) -> list[Any]:
    """Run a statement, and return its rows as the database has them, if any."""
    rows: list[Any]
    (rows,) = together(SqlStatement(sql, values))
    return rows


@StatementFunction
def select(
    model: type[models.Model], sql: str, *values: Any, **related: type[models.Model]
) -> SqlStatement:
    """Return the rows of a model that a statement finds; further columns become attributes.

    All columns of the model come first, then those of its ``related`` rows in their order: if a
    join found no such row, the attribute is not set. Without related rows some columns will do.
    """
    return SqlStatement(sql, values, partial(_rows, (("", model), *related.items())))


def _rows(
    kinds: tuple[tuple[str, type[models.Model]], ...], columns: tuple[str, ...], rows: list[Any]
) -> list[Any]:
    database = connections[DEFAULT_DB_ALIAS]
    readers, rest = _readers(kinds, columns)
    found = []
    for row in rows:
        own: Any = None
        for name, kind, fields, key, values_of, converters in readers:
            if row[key] is None:
                continue
            stored = [*values_of(row)]
            for place, convert, column in converters:
                stored[place] = convert(stored[place], column, database)
            # As ``from_db``, whose signals and loop over the fields take four times as long.
            made = kind.__new__(kind)
            made.__dict__.update(zip(fields, stored, strict=True), _state=ModelState())
            made._state.adding, made._state.db = False, database.alias  # noqa: SLF001 - Django's documented API
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
        selected = [one for one in own.concrete_fields if one.column in columns]
        for at, one in enumerate(selected):
            places.append(columns.index(one.column, begin))
            column = one.get_col(own.db_table)
            backend = connection.ops.get_db_converters(column)
            own_ones = one.get_db_converters(connection)
            converters += [(at, convert, column) for convert in (*backend, *own_ones)]
        fields = [one.attname for one in selected]
        key = columns.index(own.pk.column, begin)
        readers.append((name, model, fields, key, itemgetter(*places), converters))
        begin += len(fields)
    return readers, range(begin, len(columns))


def forget_columns() -> None:
    """Forget the models' columns, before another kind of database is used."""
    _readers.cache_clear()


def lock(model: type[models.Model], *pks: object) -> None:
    """Have others that lock these rows wait for the commit; see ``row_locks``."""
    together(*row_locks(model, *pks))


def row_locks(model: type[models.Model], *pks: object, where: str = "") -> list[SqlStatement]:
    """Return statements that lock rows until the commit: none on SQLite, which has one writer.

    Lock conversations first, and users last. A row that names one of these is stored meanwhile. The
    condition ``where`` finds the rows instead of their keys.
    """
    if not connection.features.has_select_for_update:
        return []
    own = model._meta  # noqa: SLF001 - Django's documented API
    found = where or f'"{own.pk.column}" IN ({", ".join(["%s"] * len(pks))})'
    sql = f'SELECT 1 FROM "{own.db_table}" WHERE {found} ORDER BY "{own.pk.column}"'  # noqa: S608 - names of tables and columns
    return [SqlStatement(f"{sql} FOR NO KEY UPDATE", pks)]


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
    """Write a piece of something large in one transaction, and let others write after it."""
    # A writer that waits for a lock of SQLite tries it now and then only: the pause is as long as
    # the piece took.
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


@StatementFunction
def insert(row: models.Model) -> SqlStatement:
    """Store a new row, and return it; as ``save`` does, but for signals and parents."""
    fields, sql = _insertion(type(row), row.pk is not None)
    database = connections[DEFAULT_DB_ALIAS]
    saved = [(one, one.pre_save(row, add=True)) for one in fields]
    # Most columns of a new row are null, which is null in every database.
    values = [None if one is None else kind.get_db_prep_save(one, database) for kind, one in saved]

    def take(_columns: tuple[str, ...], rows: list[Any]) -> models.Model:
        if row.pk is None:
            ((row.pk,),) = rows
        row._state.adding, row._state.db = False, database.alias  # noqa: SLF001 - Django's documented API
        return row

    return SqlStatement(sql, values, take)


def changing(
    model: type[models.Model], pk: object, condition: str = "", **columns: Any
) -> SqlStatement:
    """Return a statement that changes a row if a ``condition`` holds, and finds its key then."""
    own, database = model._meta, connections[DEFAULT_DB_ALIAS]  # noqa: SLF001 - Django's documented API
    fields: list[Any] = [own.get_field(name) for name in columns]
    places = ", ".join([f'"{one.column}" = %s' for one in fields])
    values = [
        one.get_db_prep_save(getattr(value, "pk", value), database)
        for one, value in zip(fields, columns.values(), strict=True)
    ]
    sql = f'UPDATE "{own.db_table}" SET {places} WHERE id = %s{condition} RETURNING id'  # noqa: S608 - names of columns
    return SqlStatement(sql, [*values, pk])


def next_key(model: type[models.Model]) -> SqlStatement:
    """Return a statement for the key of a later row, None if only its insertion has it."""
    if not is_shared():
        return SqlStatement("")
    table = model._meta.db_table  # noqa: SLF001 - Django's documented API
    return SqlStatement("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", [table], only)


def only(_columns: tuple[str, ...], rows: list[Any]) -> Any:
    """Return the one value that was asked for."""
    return rows[0][0]


@cache
def _insertion(
    model: type[models.Model], has_key: bool
) -> "tuple[list[models.Field[Any, Any]], str]":
    """Return the columns of a new row, and the statement that takes them in this order."""
    own = model._meta  # noqa: SLF001 - Django's documented API
    made = () if has_key else models.AutoField
    fields = [one for one in own.concrete_fields if not isinstance(one, made)]
    columns = ", ".join([f'"{one.column}"' for one in fields])
    places = ", ".join(["%s"] * len(fields))
    key = f'RETURNING "{own.pk.column}"'
    return fields, f'INSERT INTO "{own.db_table}" ({columns}) VALUES ({places}) {key}'  # noqa: S608 - names of columns
