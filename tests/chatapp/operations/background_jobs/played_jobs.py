"""Jobs of these tests: they say what they were given, and wait or fail where they are told to."""

import asyncio
import threading
from collections import deque

from tests.panics import PanicException

said: deque[str] = deque()
# Set by a job that waits, and by who lets it go on.
begun, go_on = threading.Event(), threading.Event()


async def say(word: str) -> None:
    """Say a word."""
    said.append(word)


async def fail(*, panics: bool = False) -> None:
    """Fail."""
    raise PanicException("of the test") if panics else RuntimeError("of the test")


async def wait(word: str) -> None:
    """Say a word once somebody has let it go on, or that it was cancelled."""
    begun.set()
    try:
        await asyncio.to_thread(go_on.wait)
    except asyncio.CancelledError:
        said.append(f"cancelled: {word}")
        raise
    said.append(word)
