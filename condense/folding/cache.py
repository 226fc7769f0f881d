"""Signatures by content hash, bounded by the characters they take."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable

from condense.folding.folded import SkipReason

CHARACTERS = 4_000_000
_OVERHEAD = 200  # of one entry, so that many empty ones are bounded too

type Outcome = str | SkipReason


class SignatureCache:
    """Remembers what a source folds to, or why it does not; safe to share between threads."""

    def __init__(self, characters: int = CHARACTERS) -> None:
        """Take how many characters to keep; the least recently used go first."""
        self._limit = characters
        self._size = 0
        self._kept: OrderedDict[bytes, Outcome] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, language: str, source: bytes, fold: Callable[[], Outcome]) -> Outcome:
        """Return what is remembered for this source, else what ``fold`` returns."""
        key = hashlib.blake2b(source, digest_size=20, key=language.encode()).digest()
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return known
        outcome = fold()
        with self._lock:
            self._keep(key, outcome)
        return outcome

    def _keep(self, key: bytes, outcome: Outcome) -> None:
        if key in self._kept:
            return
        self._kept[key] = outcome
        self._size += len(outcome) + _OVERHEAD
        while self._size > self._limit:
            self._size -= len(self._kept.popitem(last=False)[1]) + _OVERHEAD
