"""Two connections at once: the second begins while what the first has done is not committed."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import connection, transaction

from chatapp.models.errors import Refused

PATIENCE = 60
BLOCKED = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"


def outcome(do: Callable[[], Any]) -> Any:
    """Return what something returns, or the error for a person."""
    try:
        return do()
    except Refused as refused:
        return refused


def beside(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what both came to: the second begins before the first is committed."""
    stored, free, process = threading.Event(), threading.Event(), Future[int]()

    def hold() -> Any:
        try:
            with transaction.atomic():
                done = outcome(first)
                stored.set()
                assert free.wait(PATIENCE)
            return done
        finally:
            stored.set()
            connection.close()

    def follow() -> Any:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                process.set_result(cursor.fetchone()[0])
            return outcome(second)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(hold)
        assert stored.wait(PATIENCE)
        other = threads.submit(follow)
        wait_until_blocked(other, process)
        free.set()
        return one.result(PATIENCE), other.result(PATIENCE)


def is_blocked(process: int) -> bool:
    """Whether a connection waits for another one's lock."""
    with connection.cursor() as cursor:
        cursor.execute(BLOCKED, [process])
        row = cursor.fetchone()
    return bool(row and row[0])


def refusals(*outcomes: Any) -> list[bool]:
    """Return which of them were refused, on a page or elsewhere."""
    return [isinstance(one, Refused) or getattr(one, "status_code", 0) == 422 for one in outcomes]


def wait_until_blocked(other: Future[Any], process: Future[int]) -> None:
    """Return once what another connection does is done, or waits for a lock."""
    until = time.monotonic() + PATIENCE
    while not (other.done() or is_blocked(process.result(PATIENCE))):
        assert time.monotonic() < until
