"""A connection of Procrastinate's workers to the database that outlasts a restart of it."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, override

from procrastinate import PsycopgConnector
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException
from psycopg import OperationalError

log = logging.getLogger(__name__)

# Seconds for which a call is tried again, and between two tries.
OUTAGE, PAUSE = 60.0, 0.5
# Left alone, the pool would pause longer after each try; so it gives up, and tries when asked.
POOL: dict[str, Any] = {"min_size": 1, "max_size": 4, "timeout": 5, "reconnect_timeout": 1}


class SteadyConnector(PsycopgConnector):
    """Procrastinate's connector, whose calls and LISTEN are tried again: errors stop a worker."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        """Connect with these ``parameters`` of psycopg's."""
        super().__init__(kwargs=parameters, **POOL)
        # Tasks whose LISTEN broke off, and whether the log has that.
        self._unheard: set[asyncio.Task[Any] | None] = set()
        self._is_logged = False

    @override
    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        call = super().execute_query_async
        await _steadily(lambda: call(query, **arguments))

    @override
    async def execute_query_one_async(self, query: Any, **arguments: Any) -> dict[str, Any]:
        call = super().execute_query_one_async
        return await _steadily(lambda: call(query, **arguments))

    @override
    async def execute_query_all_async(self, query: Any, **arguments: Any) -> list[dict[str, Any]]:
        call = super().execute_query_all_async
        return await _steadily(lambda: call(query, **arguments))

    @override
    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Listen to the end, however often that breaks off: workers also look by themselves."""
        channels, task = [*channels], asyncio.current_task()
        try:
            while True:
                try:
                    await super().listen_notify(on_notification, channels)
                except ConnectorException as error:
                    self._lose(task, error)
                await asyncio.sleep(PAUSE)
        finally:
            self._unheard.discard(task)

    @override
    async def _loop_notify(self, *given: Any, **named: Any) -> None:
        """Pass on what is announced, on a connection that listens by now."""
        self._unheard.discard(asyncio.current_task())
        if self._is_logged and not self._unheard:
            self._is_logged = False
            log.warning("new jobs are announced again")
        await super()._loop_notify(*given, **named)

    def _lose(self, task: asyncio.Task[Any] | None, error: Exception) -> None:
        """Take note that a task is told of no jobs; an outage is logged once, whoever meets it."""
        self._unheard.add(task)
        if not self._is_logged:
            self._is_logged = True
            log.warning("new jobs are not announced for now: %s", error.__cause__)


async def _steadily[T](call: Callable[[], Awaitable[T]]) -> T:
    last = time.monotonic() + OUTAGE
    while True:
        try:
            return await call()
        except ConnectorException as error:
            if not isinstance(error.__cause__, OperationalError) or time.monotonic() > last:
                raise
        await asyncio.sleep(PAUSE)
