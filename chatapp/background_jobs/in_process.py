"""Background jobs of one process: tasks on its event loop, or on one of their own without it."""

import asyncio
import contextvars
import functools
import logging
import threading
from collections.abc import Awaitable
from typing import Any

from asgiref.sync import SyncToAsync
from django.db import transaction

from chatapp.background_jobs.registry import run

log = logging.getLogger(__name__)

# Seconds that cancelled jobs have to end.
CANCELLING = 5

# The tasks of jobs, and those among them that are not due yet.
_tasks: set[asyncio.Task[None]] = set()
_waiting: set[asyncio.Task[None]] = set()
# Names and keys of jobs that have not begun, each with the loop that it will run on.
_keys: dict[tuple[str, str], asyncio.AbstractEventLoop] = {}
_lock = threading.Lock()


def defer(name: str, *, after: float, key: str, arguments: dict[str, Any]) -> None:
    """Have a job run after the commit; callable from any thread."""
    transaction.on_commit(functools.partial(_begin, name, after, key, arguments))


async def close(seconds: float) -> None:
    """Cancel jobs that wait, and those that still run after so many seconds."""
    ends: list[Awaitable[None]] = [_end(asyncio.get_running_loop(), seconds)]
    if _own_loop.cache_info().currsize:
        own = _own_loop()
        ends.append(asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_end(own, seconds), own)))
    await asyncio.gather(*ends)


async def _end(loop: asyncio.AbstractEventLoop, patience: float) -> None:
    """End the jobs of a loop that runs this."""
    for task in [one for one in _waiting if one.get_loop() is loop]:
        task.cancel()
    for seconds in (patience, CANCELLING):
        if tasks := {one for one in _tasks if one.get_loop() is loop}:
            await asyncio.wait(tasks, timeout=seconds)
        for task in [one for one in tasks if not one.done()]:
            task.cancel()


def _begin(name: str, after: float, key: str, arguments: dict[str, Any]) -> None:
    with _lock:
        loop = _loop()
        other = _keys.get((name, key))
        # One whose loop has ended waits no more.
        if other and other.is_running():
            return
        if key:
            _keys[name, key] = loop
    start = functools.partial(_start, name, after, key, arguments)
    # A request's own context ends with it, and takes the threads for its queries along.
    loop.call_soon_threadsafe(start, context=contextvars.Context())


def _start(name: str, after: float, key: str, arguments: dict[str, Any]) -> None:
    task = asyncio.create_task(_run(name, after, key, arguments))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    if after > 0:
        _waiting.add(task)


async def _run(name: str, after: float, key: str, arguments: dict[str, Any]) -> None:
    try:
        if after > 0:
            await asyncio.sleep(after)
    finally:
        _waiting.difference_update({asyncio.current_task()})
        with _lock:
            _keys.pop((name, key), None)
    try:
        await run(name, arguments)
    except Exception:
        log.exception("the background job %s failed", name)


def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that this thread works for, or that of a thread for jobs."""
    loop = getattr(SyncToAsync.threadlocal, "main_event_loop", None)
    return loop if loop and loop.is_running() else _own_loop()


@functools.cache
def _own_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    started = threading.Event()
    loop.call_soon(started.set)
    threading.Thread(target=loop.run_forever, name="background jobs", daemon=True).start()
    started.wait()
    return loop
