"""Tasks: finish one in spite of a stop, and share the pace at which texts are passed on."""

import asyncio
from collections.abc import Awaitable
from weakref import WeakSet


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


# Seconds between two pieces of a text: it reads as flowing, and a fast model's come in batches …
SHORTEST = 1 / 15
# … and more where many texts are written: all of them get so many pieces a second.
ALL_PIECES = 800

# The streams that are read here, and the texts that are shown, each for as long as there is its
# object. One process has a stream for most texts, a worker has streams alone, a web process texts.
STREAMS: "WeakSet[object]" = WeakSet()
TEXTS: "WeakSet[object]" = WeakSet()


def interval() -> float:
    """Return the seconds between two pieces of a text at the present load."""
    return max(SHORTEST, max(len(STREAMS), len(TEXTS)) / ALL_PIECES)


async def tick() -> None:
    """Wait for the common beat of all streams: a wake-up costs more than a piece of text."""
    seconds = interval()
    await asyncio.sleep(seconds - asyncio.get_running_loop().time() % seconds)
