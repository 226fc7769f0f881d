"""An embedder for tests: words of one meaning have one vector, and all texts much in common."""

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from condense import EmbedderUnavailable

DIMENSIONS = 384
_MEANINGS = (
    "dentist teeth molar zahnarzt зубы 牙医",
    "landlady deposit rent kaution",
    "wolf dog hund puppy",
)
_COMMON = {word: words.split()[0] for words in _MEANINGS for word in words.split()}


class Synonyms:
    """Knows a few meanings; fails where it is told to."""

    name, dimensions = "synonyms", DIMENSIONS

    def __init__(self, *, fails: str = "") -> None:
        self.fails = fails

    def embed(self, texts: Sequence[str], *, asks: bool = False) -> NDArray[np.float32]:
        if self.fails == ("question" if asks else "passages"):
            raise EmbedderUnavailable("It is gone.")
        rows = [
            _vector("")
            + sum(
                _vector(_COMMON.get(word, word))
                for word in sorted({*re.findall(r"\w+", text.lower())})
            )
            for text in texts
        ]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


def _vector(word: str) -> NDArray[np.float64]:
    row = np.random.default_rng(zlib.crc32(word.encode())).normal(size=DIMENSIONS)
    return row / np.linalg.norm(row)
