"""Event loops: run a long computation on a loop of its own, in a thread."""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from condense.errors import panics_as_errors


async def run_apart[T](work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` on a new loop in a thread and return its result; this loop stays free."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=_serve, args=(loop,), name="condensing", daemon=True).start()
    try:
        return await run_on(loop, work)
    finally:
        loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


async def run_on[T](loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` on another thread's loop and return its result.

    A cancellation is passed on, and raised here after ``work`` has ended.
    """
    here = asyncio.get_running_loop()
    ended, tasks = here.create_future(), list[asyncio.Task[T]]()

    def begin() -> None:
        tasks.append(loop.create_task(work))
        tasks[0].add_done_callback(lambda _: here.call_soon_threadsafe(ended.set_result, None))

    def end() -> None:
        tasks[0].cancel()

    loop.call_soon_threadsafe(begin)
    try:
        await asyncio.shield(ended)
    except asyncio.CancelledError:
        loop.call_soon_threadsafe(end)
        while not ended.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(ended)
        raise
    with panics_as_errors():
        return tasks[0].result()
