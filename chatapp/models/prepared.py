"""Hot queries, compiled once: to write a query's SQL costs several times what running it does."""

import copy
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self, cast, override

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.sql.compiler import SQLCompiler

type _Build[M: Model, R] = Callable[..., QuerySet[M, R]]


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
        query = self._build(**{name: _Parameter(name, one) for name, one in self._fields.items()})
        compiler = _Compiler(query.query, connections[DEFAULT_DB_ALIAS], DEFAULT_DB_ALIAS)
        query.query = cast("Any", _Written(compiler.compiled()))
        return query

    def __call__(self, **values: Any) -> list[R]:
        """Return the rows for these values of the parameters."""
        rows = self._query.all()
        bound = {
            name: field.get_db_prep_value(values[name], connection)
            for name, field in self._fields.items()
        }
        written = cast("Any", rows.query)
        rows.query = written.bound_to(bound)
        return list(rows)

    def first(self, **values: Any) -> R | None:
        """Return the first row, None where there is none."""
        return next(iter(self(**values)), None)


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

    def bound_to(self, values: Mapping[str, Any]) -> "_Written":
        """Return the same for this thread's connection and these values of the parameters."""
        compiler = copy.copy(self.compiler)
        compiler.connection = connections[DEFAULT_DB_ALIAS]
        compiler.parameters = tuple(
            values[one.name] if isinstance(one, _Parameter) else one
            for one in self.compiler.parameters
        )
        return _Written(compiler)
