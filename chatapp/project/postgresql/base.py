"""A connection to PostgreSQL that returns JSON as it was stored, and repairs itself."""

import atexit
import os
import select
from contextlib import suppress
from types import TracebackType
from typing import Any, override

from django.db import utils
from django.db.backends.postgresql import base, operations
from django.utils.functional import cached_property
from psycopg import OperationalError, errors
from psycopg.types.json import Json
from psycopg.types.string import TextLoader
from psycopg_pool import ConnectionPool, PoolTimeout

# Seconds of a wait that should be none.
NO_WAIT = 0.001

# Dates come in the form that the client can read, also if the server prefers another.
os.environ["PGDATESTYLE"] = "ISO"


class DatabaseErrorWrapper(utils.DatabaseErrorWrapper):
    """Django's; limits that operators set are no mistakes of ours, nor the server's."""

    _limits = (
        errors.ReadOnlySqlTransaction,
        errors.IdleInTransactionSessionTimeout,
        errors.TransactionTimeout,
        errors.InsufficientPrivilege,
    )

    @override
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, self._limits):
            raise utils.OperationalError(*error.args) from error
        super().__exit__(kind, error, traceback)


class DatabaseOperations(operations.DatabaseOperations):
    """Django's, for columns of the type ``json``."""

    @override
    def adapt_json_value(self, value: Any, encoder: Any) -> Any:
        """Return an adapter that writes the value with its keys in their order."""
        return Json(value, dumps=operations.get_json_dumps(encoder))


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, with columns of JSON that keep the order of keys: ``jsonb`` sorts them.

    Requests are built byte by byte of stored JSON. Another order would miss the provider's cache,
    and the record of requests.
    """

    def __init__(self, settings: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        options = settings["OPTIONS"]
        if options.get("pool"):
            pool = {"reconnect_failed": connect_anew, **options["pool"]}
            settings = {**settings, "OPTIONS": {**options, "pool": pool}}
        super().__init__(settings, *args, **kwargs)

    # Milliseconds for which a statement waits for a lock, 0 for as long as it takes.
    lock_timeout = 0
    _is_idle = False

    data_types = base.DatabaseWrapper.data_types | {"JSONField": "json"}
    ops_class = DatabaseOperations

    @cached_property
    def wrap_database_errors(self) -> DatabaseErrorWrapper:
        """Django's name for the wrapper that turns the client's errors into its own."""
        return DatabaseErrorWrapper(self)

    @override
    def get_connection_params(self) -> dict[str, Any]:
        """Read JSON as text, as Django does for ``jsonb``: its fields make values of it."""
        params: dict[str, Any] = super().get_connection_params()
        params["context"].register_loader("json", TextLoader)
        return params

    def _configure_connection(self, connection: Any) -> bool:
        """Limit the waits for a lock; return True to have that committed."""
        changed: bool = super()._configure_connection(connection)  # type: ignore[misc] # no stub has it
        if self.lock_timeout:
            limit = str(self.lock_timeout)
            connection.execute("SELECT set_config('lock_timeout', %s, false)", [limit])
        return changed or bool(self.lock_timeout)

    @override
    def ensure_connection(self) -> None:
        """Connect, also if the server has closed the connection since its last use."""
        # On an idle connection only its end, or a note, can have arrived.
        if self.connection is not None and not self.in_atomic_block and self._is_cut():
            self.close()
        self._is_idle = False
        super().ensure_connection()

    def close_if_idle(self) -> None:
        """Close the connection if it was not used since the last call."""
        if self._is_idle and not self.in_atomic_block:
            self.close()
        self._is_idle = True

    def _is_cut(self) -> bool:
        """Return True if the server closed it, found by reading without a query."""
        arrived = select.poll()
        try:
            arrived.register(self.connection.fileno(), select.POLLIN)
            while arrived.poll(0):
                self.connection.pgconn.consume_input()
        except OperationalError:
            return True
        return False


def connect_anew(pool: ConnectionPool) -> None:
    """Make a pool that has given up connect again, if threads wait for its connections."""
    # The pool itself tries only at the next request, and the thread to make it may be waiting, too.
    if pool.get_stats().get("requests_waiting"):
        with suppress(PoolTimeout):
            pool.putconn(pool.getconn(timeout=NO_WAIT))


@atexit.register
def close_pools() -> None:
    """Close all pools: at its end, Python would wait for their threads in vain."""
    # Django has no other way to its pools.
    for pool in [*DatabaseWrapper._connection_pools.values()]:  # type: ignore[attr-defined] # noqa: SLF001
        pool.close()
