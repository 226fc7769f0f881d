"""The statements that the database gets, whichever thread sends them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Self
from weakref import WeakSet

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

_ALL: WeakSet[BaseDatabaseWrapper] = WeakSet()
_LISTENING: list["Statements"] = []


class Statements(list[str]):
    """What was sent, in order."""

    def note(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        """Keep a statement, and execute it; what begins and ends transactions is none."""
        if not sql.startswith(("BEGIN", "SAVEPOINT", "RELEASE")):
            self.append(sql)
        return execute(sql, *rest)


@receiver(connection_created)
def _know(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    if connection not in _ALL:
        _ALL.add(connection)
        connection.execute_wrappers.extend(one.note for one in _LISTENING)


@contextmanager
def statements() -> Iterator[Statements]:
    """Collect all statements until the block ends."""
    heard = Statements()
    with ExitStack() as stack:
        for connection in list(_ALL):
            stack.enter_context(connection.execute_wrapper(heard.note))
        _LISTENING.append(heard)
        try:
            yield heard
        finally:
            _LISTENING.remove(heard)


@contextmanager
def rows_read() -> Iterator[list[str]]:
    """Collect, once for each row, the statements of this thread that read it."""
    read: list[str] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        cursor = context["cursor"].cursor
        if connection.vendor == "sqlite":
            # Called for each row that is fetched.
            cursor.row_factory = lambda _cursor, row: read.append(sql) or row
            return execute(sql, params, many, context)
        done = execute(sql, params, many, context)
        read.extend([sql] * (cursor.rowcount if cursor.description else 0))
        return done

    with connection.execute_wrapper(note):
        yield read


class Steps:
    """Counts the steps that SQLite takes meanwhile; with another database the test is skipped."""

    count = 0

    def __enter__(self) -> Self:
        if connection.vendor != "sqlite":
            pytest.skip("only SQLite counts its steps")
        connection.connection.set_progress_handler(self._step, 1)
        return self

    def __exit__(self, *_error: object) -> None:
        connection.connection.set_progress_handler(None, 0)

    def _step(self) -> None:
        self.count += 1
