"""Garbage collection: full collections stop all threads, so they run while few objects exist.

Python's own schedule collects while a large file is read or a long text is rendered, and includes
all loaded modules: several tenths of a second.
"""

import gc
import sys
import threading
import time

# Seconds between two looks, and looks after which it waits for nothing.
EVERY, PATIENCE = 30, 20
# Blocks of memory whose objects are gone through in less than 0.1 s, without the program's own.
# Counting the objects would hand out tuples that another thread still makes: Python then fails.
FEW = 400_000
# New objects before a collection, and collections before one of the next generation: with Python's
# own numbers, a turn's are gone through while most are in use. A full one comes after NEVER of
# these.
YOUNG, AGAIN, NEVER = 10_000, 10, 2**31 - 1


def keep_collections_short() -> None:
    """Exclude loaded objects from collection, and run full collections from a thread only."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, AGAIN, NEVER)
    own = sys.getallocatedblocks()
    threading.Thread(target=_collect, args=(own,), name="garbage", daemon=True).start()


def _collect(own: int) -> None:
    looks = 0
    while True:
        time.sleep(EVERY)
        looks += 1
        if looks > PATIENCE or sys.getallocatedblocks() - own < FEW:
            gc.collect()
            looks = 0
