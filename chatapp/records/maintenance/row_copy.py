"""Row copies: all rows of one database put into another one, SQLite or PostgreSQL.

JSON is copied as text, so that it keeps its bytes. Keys stay as they are.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

import condense
from chatapp.models import databases, message_index
from chatapp.models.databases import Column, ModelTable, in_use, tables
from chatapp.models.errors import NotCopied
from chatapp.project.installation import PROGRAM
from chatapp.project.sentences import translate as _

# Rows, or characters of them, that are held and written at once.
ROWS, SIZE = 500, 1_000_000
# Rows of one table between two lines about the progress.
STEP = 100_000

Say = Callable[[str], object]


def _plan() -> tuple[MigrationExecutor, list[tuple[str, str]]]:
    """Return the executor and the newest migrations of this software's own apps."""
    executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
    own = {one.app for one in tables()}
    return executor, [key for key in executor.loader.graph.leaf_nodes() if key[0] in own]


def migrate() -> None:
    """Make the tables of the database in use as this version has them."""
    executor, newest = _plan()
    executor.migrate(newest)


def check_migrated() -> None:
    """Raise NotCopied if the database in use lacks migrations."""
    executor, newest = _plan()
    if executor.migration_plan(newest):
        said = _("The database in use is of an older version: run `{name} migrate`.", name=PROGRAM)
        raise NotCopied(said)


def first_found() -> ModelTable | None:
    """Return a table of the database in use that has rows other than Django's own; or None."""
    return next((one for one in tables() if not one.is_made_by_django and one.count()), None)


@dataclass(slots=True)
class Copied:
    """The result of a copy: ``rows`` of each table, and ``mended`` values of each column."""

    rows: dict[str, int] = field(default_factory=dict)
    mended: Counter[str] = field(default_factory=Counter)


def copy_rows(
    source: BaseDatabaseWrapper, target: BaseDatabaseWrapper, say: Say, *, replace: bool = False
) -> Copied:
    """Fill the tables of ``target``, which is in use and in a transaction; or replace their rows.

    Values that the target can't hold are mended as ``models.fields`` does it, such as numbers and
    lines that are too long. Raises NotCopied if a row can't be stored.
    """
    copied, all_of_them = Copied(), tables()
    _clear(target, all_of_them, replace=replace)
    for table in all_of_them:
        columns = [_Column(table.name, one, source, target) for one in table.columns]
        with in_use(source):
            last = table.last_key()
        copied.rows[table.name] = _copy(table, columns, source, target, say)
        if last:
            table.go_on_from(last)
        copied.mended.update({one.name: one.mended for one in columns if one.mended})
    say(_("Making the index of words."))
    message_index.fill()
    return copied


def write_file(path: Path) -> None:
    """Write all rows of the database in use, as they are at one moment, to a new SQLite file."""
    check_migrated()
    source = connections[DEFAULT_DB_ALIAS]
    with databases.snapshot(), databases.opened(databases.draft_at(path)) as target, in_use(target):
        migrate()
        with transaction.atomic():
            copy_rows(source, target, lambda _line: None)


class _Column:
    """A column on its way from one database to the other."""

    def __init__(
        self, table: str, column: Column, source: BaseDatabaseWrapper, target: BaseDatabaseWrapper
    ) -> None:
        self.column, self.source, self.target = column, source, target
        self.name = f"{table}.{column.column}"
        self.mended = 0
        self._expression = column.get_col(table)
        self._converters: list[Any] = []
        if not isinstance(column, models.JSONField):
            own = (source.ops.get_db_converters(self._expression), column.get_db_converters(source))
            self._converters = [convert for ones in own for convert in ones]
        self._longest = column.max_length if isinstance(column, models.CharField) else None
        self._range = target.ops.integer_field_ranges.get(column.get_internal_type()) and (
            target.ops.integer_field_range(column.get_internal_type())
        )

    def carry(self, stored: Any) -> Any:
        """Return a stored value in the form that the other database takes."""
        if stored is None:
            return None
        try:
            value = stored
            for convert in self._converters:
                value = convert(value, self._expression, self.source)
            fitting = self._fit(value)
        except ArithmeticError:
            # A number of more digits than the column of USD has: the largest one of the same sign.
            column: Any = self.column
            largest = Decimal(10**column.max_digits - 1).scaleb(-column.decimal_places)
            value, fitting = stored, largest.copy_sign(Decimal(stored))
        self.mended += fitting != value
        if isinstance(fitting, str | int | float):
            return fitting
        return self.column.get_db_prep_value(fitting, self.target)

    def _fit(self, value: Any) -> Any:
        if isinstance(value, str):
            return condense.well_formed(value)[: self._longest]
        if self._range and isinstance(value, int):
            least, most = self._range
            return min(max(value, least), most)
        return value


def _copy(
    table: ModelTable,
    columns: Sequence[_Column],
    source: BaseDatabaseWrapper,
    target: BaseDatabaseWrapper,
    say: Say,
) -> int:
    """Copy the rows of one table, and return their number."""
    names = ", ".join([f'"{one.column.column}"' for one in columns])
    places = ", ".join(["%s"] * len(columns))
    store = f'INSERT INTO "{table.name}" ({names}) VALUES ({places})'  # noqa: S608 - names
    # An index of a file may be damaged, and lack rows.
    order = "NOT INDEXED" if source.vendor == "sqlite" else f'ORDER BY "{table.key.column}"'
    read = f'SELECT {names} FROM "{table.name}" {order}'  # noqa: S608 - names
    done = 0
    try:
        for batch in _batches(databases.rows_of(source, read)):
            rows = [
                [column.carry(one) for column, one in zip(columns, row, strict=True)]
                for row in batch
            ]
            with target.cursor() as cursor:
                cursor.executemany(store, rows)
            if done // STEP < (done := done + len(rows)) // STEP:
                so_far = _(
                    "{name}: {count:,} row so far",
                    "{name}: {count:,} rows so far",
                    name=table.name,
                    count=done,
                )
                say(so_far)
    except (DatabaseError, ValueError, TypeError) as error:
        # The lines that follow may show the row.
        reason = (str(error) or type(error).__name__).splitlines()[0]
        said = _("{name}, after row {row:,}: {reason}", name=table.name, row=done, reason=reason)
        raise NotCopied(said) from error
    if done:
        name = table.name
        say(_("{name}: {count:,} row", "{name}: {count:,} rows", name=name, count=done))
    return done


def _batches(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows in lists of some; one row alone may be larger than several."""
    batch, size = [], 0
    for row in rows:
        batch.append(row)
        size += sum([len(one) for one in row if isinstance(one, str | bytes | memoryview)])
        if len(batch) == ROWS or size >= SIZE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _clear(
    database: BaseDatabaseWrapper, all_of_them: Sequence[ModelTable], *, replace: bool
) -> None:
    """Empty the tables that `migrate` fills, or all of them to ``replace`` their rows."""
    # PostgreSQL empties a table at once only together with those whose rows name its own.
    statements = [
        f'DELETE FROM "{one.name}"'  # noqa: S608 - a name
        for one in reversed(all_of_them)
        if one.is_made_by_django
    ]
    if replace:
        statements = database.ops.sql_flush(no_style(), [one.name for one in all_of_them])
    with database.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
