"""Reads beside writes, and hot statements compiled once: SQL takes longer to write than to run."""

import copy
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from typing import Any, Self, cast, override

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import AutoField, Expression, Field, Model, QuerySet
from django.db.models.sql import InsertQuery, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler

# Each keeps a connection of its own, for as long as the process runs.
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="reading")


def reading[**P, T](read: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Make a function that only reads one to be awaited, which sees all that is committed.

    What writes has a thread of its own, where each write waits for those before it.
    """
    return sync_to_async(read, thread_sensitive=False, executor=_THREADS)


type _Build[M: Model, R] = Callable[..., QuerySet[M, R]]
type Change = tuple[QuerySet[Any], Mapping[str, Any]]
type _BuildChange = Callable[..., Change]


def prepared[M: Model, R](
    **fields: "Field[Any, Any]",
) -> Callable[["_Build[M, R]"], "Prepared[M, R]"]:
    """Make a function that returns rows of one that returns their query.

    That is called once, with expressions for its parameters, whose types the ``fields`` are.
    """
    return lambda build: Prepared(build, fields)


class Prepared[M: Model, R]:
    """A query with parameters, by name; to call it returns the rows that it finds now."""

    def __init__(self, build: "_Build[M, R]", fields: "Mapping[str, Field[Any, Any]]") -> None:
        """Take what builds the query; nothing is built before it is needed."""
        self._build = build
        self._fields = fields

    @cached_property
    def _query(self) -> "QuerySet[M, R]":
        query = self._build(**_parameters(self._fields))
        compiler = _Compiler(query.query, connections[DEFAULT_DB_ALIAS], DEFAULT_DB_ALIAS)
        query.query = cast("Any", _Written(compiler.compiled()))
        return query

    def __call__(self, **values: Any) -> list[R]:
        """Return the rows for these values of the parameters."""
        rows = self._query.all()
        written = cast("Any", rows.query)
        rows.query = written.bound_to(self._fields, values)
        return list(rows)

    def first(self, **values: Any) -> R | None:
        """Return the first row, None where there is none."""
        return next(iter(self(**values)), None)


def prepared_update(
    **fields: "Field[Any, Any]",
) -> Callable[["_BuildChange"], "PreparedUpdate"]:
    """Make a function that changes rows of one that returns them, and their new columns.

    That is called once, as with ``prepared``.
    """
    return lambda build: PreparedUpdate(build, fields)


class PreparedUpdate:
    """A change with parameters, by name; to call it returns how many rows it changed."""

    def __init__(self, build: "_BuildChange", fields: "Mapping[str, Field[Any, Any]]") -> None:
        """Take what builds the change; nothing is built before it is needed."""
        self._build = build
        self._fields = fields

    @cached_property
    def _written(self) -> tuple[str, tuple[Any, ...]]:
        rows, columns = self._build(**_parameters(self._fields))
        query = cast("UpdateQuery", rows.query.chain(UpdateQuery))
        query.add_update_values(dict(columns))
        sql, parameters = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        return sql, tuple(parameters)

    def __call__(self, **values: Any) -> int:
        """Change the rows for these values of the parameters."""
        sql, parameters = self._written
        with connection.cursor() as cursor:
            cursor.execute(sql, _bound(parameters, self._fields, values))
            changed: int = cursor.rowcount
        return changed

    def returning(self, column: str, **values: Any) -> list[Any]:
        """Change the rows, and return a column of each as it is then."""
        sql, parameters = self._written
        told = f"{sql} RETURNING {connection.ops.quote_name(column)}"
        with connection.cursor() as cursor:
            cursor.execute(told, _bound(parameters, self._fields, values))
            return [value for (value,) in cursor.fetchall()]


def insert[M: Model](row: M) -> M:
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
def _insertion(model: type[Model]) -> "tuple[Sequence[Field[Any, Any]], str]":
    """Return the columns of a new row, and the statement that takes them in this order."""
    own = model._meta  # noqa: SLF001 - Django's documented API
    fields = [
        one for one in own.concrete_fields if not (isinstance(one, AutoField) or one.generated)
    ]
    query = InsertQuery(model)
    query.insert_values(fields, [model()])
    compiler = cast("Any", query.get_compiler(DEFAULT_DB_ALIAS))
    compiler.returning_fields = own.db_returning_fields
    ((sql, _values),) = compiler.as_sql()
    return fields, sql


def _parameters(fields: "Mapping[str, Field[Any, Any]]") -> dict[str, "_Parameter"]:
    return {name: _Parameter(name, one) for name, one in fields.items()}


def _bound(
    parameters: Iterable[Any], fields: "Mapping[str, Field[Any, Any]]", values: Mapping[str, Any]
) -> list[Any]:
    """Return the parameters of a statement, with the values that there are now."""
    return [
        fields[one.name].get_db_prep_value(values[one.name], connection)
        if isinstance(one, _Parameter)
        else one
        for one in parameters
    ]


class _Parameter(Expression):
    """Stands for a value until there is one; what is compiled has it among its parameters."""

    def __init__(self, name: str, field: "Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name

    @override
    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return "%s", [self]


class _Compiler(SQLCompiler):
    """A compiler that has done its work, and from then on repeats it."""

    sql = ""
    parameters: tuple[Any, ...] = ()
    converters: Any = None

    def compiled(self) -> Self:
        """Write the SQL."""
        self.sql, self.parameters = super().as_sql()
        columns = [column[0] for column in cast("Any", self.select)[: self.col_count]]
        self.converters = super().get_converters(columns)
        return self

    @override
    def as_sql(self, with_limits: bool = True, with_col_aliases: bool = False) -> Any:
        return self.sql, self.parameters

    @override
    def get_converters(self, expressions: Any) -> Any:
        return self.converters


class _Written:
    """A query that is written already, with all that Django asks of one to read its rows."""

    values_select = ()

    def __init__(self, compiler: _Compiler) -> None:
        self.compiler = compiler

    def chain(self) -> Self:
        return self

    def get_compiler(self, *_args: Any, **_options: Any) -> _Compiler:
        return self.compiler

    def bound_to(
        self, fields: "Mapping[str, Field[Any, Any]]", values: Mapping[str, Any]
    ) -> "_Written":
        """Return the same for this thread's connection and these values of the parameters."""
        compiler = copy.copy(self.compiler)
        compiler.connection = connections[DEFAULT_DB_ALIAS]
        compiler.parameters = tuple(_bound(self.compiler.parameters, fields, values))
        return _Written(compiler)
