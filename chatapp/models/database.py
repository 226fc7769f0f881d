"""Reads beside writes, and the statements of every message: Django's SQL takes longer to make.

What is asked once in a while is asked with Django's queries. SQL written by hand stands beside the
model that it is of, and is such that PostgreSQL takes it as well.
"""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async
from django.db import connection, models

# Each keeps a connection of its own, for as long as the process runs.
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="reading")

_COLUMNS: dict[type, "models.Field[Any, Any]"] = {
    uuid.UUID: models.UUIDField(),
    datetime: models.DateTimeField(),
}


class _Reader(NamedTuple):
    """A model, its fields, where each stands with what makes its value, and where the key is."""

    model: type[models.Model]
    names: list[str]
    columns: list[tuple[int, Any, list[Any]]]
    key: int


def reading[**P, T](read: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Make a function that only reads one to be awaited, which sees all that is committed.

    What writes has a thread of its own, where each write waits for those before it.
    """
    return sync_to_async(read, thread_sensitive=False, executor=_THREADS)


def select[M: models.Model](
    model: type[M], sql: str, *values: Any, **related: type[models.Model]
) -> list[M]:
    """Return the rows of a model that a statement finds; what else it selects is theirs too.

    All columns of the model come first, then those of its ``related`` rows in their order: where
    one was joined that is not there, the row has none.
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, _as_columns(values))
        columns = tuple([one[0] for one in cursor.description])
        rows = cursor.fetchall()
    (own, *others), rest = _readers((model, *related.values()), columns)
    found = []
    for row in rows:
        made = _make(own, row)
        for name, reader in zip(related, others, strict=True):
            if row[reader.key] is not None:
                setattr(made, name, _make(reader, row))
        for place in rest:
            setattr(made, columns[place], row[place])
        found.append(made)
    return found


def _make(reader: _Reader, row: Sequence[Any]) -> Any:
    stored = []
    for place, column, converters in reader.columns:
        value = row[place]
        for convert in converters:
            value = convert(value, column, connection)
        stored.append(value)
    return reader.model.from_db(connection.alias, reader.names, stored)


@cache
def _readers(
    kinds: tuple[type[models.Model], ...], columns: tuple[str, ...]
) -> tuple[list[_Reader], range]:
    """Return where each model's fields stand and what makes values of them, and what is left."""
    readers, begin = [], 0
    for model in kinds:
        own = model._meta  # noqa: SLF001 - Django's documented API
        fields = []
        for one in own.concrete_fields:
            column = one.get_col(own.db_table)
            converters = connection.ops.get_db_converters(column)
            place = columns.index(one.column, begin)
            fields.append((place, column, [*converters, *one.get_db_converters(connection)]))
        names = [one.attname for one in own.concrete_fields]
        readers.append(_Reader(model, names, fields, columns.index(own.pk.column, begin)))
        begin += len(fields)
    return readers, range(begin, len(columns))


def run(sql: str, *values: Any) -> list[Any]:
    """Run a statement, and return what it selects or returns as the database has it."""
    with connection.cursor() as cursor:
        cursor.execute(sql, _as_columns(values))
        return cursor.fetchall() if cursor.description else []


def insert[M: models.Model](row: M) -> M:
    """Store a new row, and return it; as ``save`` does, but for signals and parents."""
    fields, sql = _insertion(type(row))
    values = [one.get_db_prep_save(one.pre_save(row, add=True), connection) for one in fields]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        if row.pk is None:
            (row.pk,) = cursor.fetchone()
    row._state.adding, row._state.db = False, connection.alias  # noqa: SLF001 - Django's documented API
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


def _as_columns(values: tuple[Any, ...]) -> list[Any]:
    return [
        _COLUMNS[type(one)].get_db_prep_value(one, connection) if type(one) in _COLUMNS else one
        for one in values
    ]
