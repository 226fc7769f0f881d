"""Links that take the place of a folder, and give it back, as fast as can be."""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HERE, _EXCHANGE = -100, 2  # renameat2


@contextmanager
def exchanging(one: Path, other: Path) -> Iterator[None]:
    """Exchange two names without end; at no moment is one of them missing."""
    over, system = threading.Event(), ctypes.CDLL(None)

    def exchange() -> None:
        while not over.is_set():
            system.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
