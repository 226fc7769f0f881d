"""Tasks: finish one in spite of a stop, compute, and pace the texts that are passed on."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from weakref import WeakSet

import condense

# Characters that take less time than a way to a thread and back, and those that a block counts as.
BRIEF, BLOCK = 16_000, 100


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


def _is_brief(contents: Iterable[condense.Content]) -> bool:
    size = 0
    for content in contents:
        for block in [content] if isinstance(content, str) else content:
            match block:
                case str(text) | condense.TextBlock(text) | condense.ToolResultBlock(_, str(text)):
                    size += BLOCK + len(text)
                case condense.ToolUseBlock(input=given):
                    size += BLOCK + len(str(given))
                case _:
                    return False
        if size > BRIEF:
            return False
    return True


async def compute[**P, T](
    contents: Iterable[condense.Content], work: Callable[P, T], *args: P.args, **options: P.kwargs
) -> T:
    """Return the result of work on some contents; it is done in a thread unless they are brief."""
    if _is_brief(contents):
        return work(*args, **options)
    return await asyncio.to_thread(work, *args, **options)


# Seconds between two pieces of a text, so that it reads as flowing and a fast model's are joined …
SHORTEST = 1 / 15
# … and longer where many texts are written: all of them together get this many pieces a second.
ALL_PIECES = 800
# … and where turns begin, of which nobody has seen a word: each takes so long of the processor.
BEGINNING_SECONDS, LONGEST = 0.02, 2.0

# The streams that are read here, and the texts that are shown, each for as long as there is its
# object. One process has a stream for most texts, a worker has streams alone, a web process texts.
STREAMS: "WeakSet[object]" = WeakSet()
STREAMED_TEXTS: "WeakSet[object]" = WeakSet()
# The turns that wait to be put on record.
BEGINNING: "WeakSet[object]" = WeakSet()


def interval() -> float:
    """Return the seconds between two pieces of a text at the present load."""
    many = max(len(STREAMS), len(STREAMED_TEXTS)) / ALL_PIECES
    return max(SHORTEST, many, min(LONGEST, len(BEGINNING) * BEGINNING_SECONDS))


async def tick(least: float = 0.0) -> None:
    """Wait for the common beat of all streams: a wake-up costs more than a piece of text."""
    seconds = max(interval(), least)
    await asyncio.sleep(seconds - asyncio.get_running_loop().time() % seconds)
