"""Counts from memory."""

import hashlib
import json
import threading
from collections import OrderedDict

from condense.messages import Content, content_to_api
from condense.tokens.counting import TokenCounter


class CachedCounter:
    """Remembers the counts of the ``size`` contents another counter counted last."""

    def __init__(self, counter: TokenCounter, size: int = 65_536) -> None:
        """Wrap ``counter``; each remembered content takes about a hundred bytes."""
        self._counter = counter
        self._size = size
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, content: Content) -> int:
        """Return the wrapped counter's count, from memory where it is known."""
        key = _digest(content)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        tokens = self._counter.count(content)
        with self._lock:
            self._known[key] = tokens
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        return tokens


def _digest(content: Content) -> bytes:
    text = json.dumps(content_to_api(content), default=repr)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
