"""Memory: the latest results up to a size, so that they are not computed again."""

import threading
from collections import OrderedDict
from collections.abc import Callable


class Memory[V]:
    """Values by their keys, ``most`` in size; the threads of a process may share it.

    ``size_of`` returns the size of a value; the least recently used are dropped first.
    """

    def __init__(self, most: int, size_of: Callable[[V], int] = lambda _value: 1) -> None:
        self._most = most
        self._size = 0
        self._size_of = size_of
        self._kept: OrderedDict[bytes, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes, make: Callable[[], V]) -> V:
        """Return the stored value of a key, else store the result of ``make``."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        value = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = value
                self._size += self._size_of(value)
            while self._size > self._most:
                self._size -= self._size_of(self._kept.popitem(last=False)[1])
        return value
