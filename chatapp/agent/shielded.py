"""Work that a stop must not break off in the middle."""

import asyncio
from collections.abc import Awaitable


async def finish[T](work: Awaitable[T]) -> T:
    """Wait for ``work`` to its end; a cancellation that came meanwhile is raised after it."""
    task = asyncio.ensure_future(work)
    stopped = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            stopped = True
    result = task.result()
    if stopped:
        raise asyncio.CancelledError
    return result
