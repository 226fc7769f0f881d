"""Executor for reads, which run beside writes: neither waits for the other."""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import sync_to_async

# Each keeps a connection of its own, for as long as the process runs.
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="reading")


def reading[**P, T](read: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Make a function that only reads one to be awaited, which sees all that is committed.

    What writes has a thread of its own, where each write waits for those before it.
    """
    return sync_to_async(read, thread_sensitive=False, executor=_THREADS)
