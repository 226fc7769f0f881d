"""The pace at which a streamed text is passed on: by time, and by how many texts stream."""

import asyncio
from weakref import WeakSet

# Seconds between two pieces of a text: it reads as flowing, and a fast model's come in batches …
SHORTEST = 0.05
# … and more where many texts are written: all of them get so many pieces a second.
ALL_PIECES = 800

_texts: "WeakSet[object]" = WeakSet()


def count(text: object) -> None:
    """Count a text among those that are written, for as long as there is this object."""
    _texts.add(text)


def interval() -> float:
    """Return the seconds from one piece of a text to the next, as things are now."""
    return max(SHORTEST, len(_texts) / ALL_PIECES)


async def tick() -> None:
    """Wait for the next moment at which texts are passed on, which is the same for all of them.

    To wake up takes a process longer than a piece does, and each piece after the first less.
    """
    seconds = interval()
    await asyncio.sleep(seconds - asyncio.get_running_loop().time() % seconds)
