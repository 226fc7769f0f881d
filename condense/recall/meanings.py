"""Meanings: embedded passages as small vectors, and the search for those nearest to a question.

A vector is stored in one byte a dimension. One bit of each dimension finds some hundred passages,
whose bytes are then compared. Needs NumPy, which nothing else in the engine does.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.int8]
Signs = NDArray[np.uint8]

# Passages whose bytes are compared, and what the passages before and after one count.
RESCORED, NEIGHBOURS = 300, 0.25
_LARGEST = 127  # of a byte


class Embedder(Protocol):
    """A model that turns texts into vectors; those of texts with alike meanings are near.

    ``name`` has the model and its version: only vectors of one name are compared.
    """

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str], *, asks: bool = False) -> Vectors:
        """Return a row of length 1 for each text, which is a passage unless it ``asks``.

        Raises EmbedderUnavailable.
        """
        ...


def quantise(vectors: Vectors) -> Rows:
    """Return vectors in one byte a dimension; the largest value of each row becomes 127."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return np.rint(vectors * (_LARGEST / largest)).astype(np.int8)


def restore(rows: Rows) -> Vectors:
    """Return quantised vectors as vectors of length 1."""
    vectors = rows.astype(np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)


def signs_of(rows: Rows) -> Signs:
    """Return one bit a dimension of quantised vectors: 48 bytes for 384 dimensions."""
    return np.packbits(rows > 0, axis=1)


def nearest(
    asked: Vectors, signs: Signs, read: Callable[[NDArray[np.intp]], Rows], most: int
) -> list[tuple[int, float]]:
    """Return the places of the nearest passages and their likenesses, the nearest first.

    ``asked`` is the vector of a question. ``signs`` has a row for each passage in the order in
    which they were said; ``read`` returns the quantised vectors of given places, in order.
    """
    differing = np.bitwise_count(signs ^ signs_of(quantise(asked[None, :]))).sum(axis=1)
    ordered = np.argsort(differing, kind="stable")[:RESCORED]
    near = np.unique(np.concatenate([ordered - 1, ordered, ordered + 1]))
    near = near[(near >= 0) & (near < len(signs))]
    likeness = np.zeros(len(signs) + 2, np.float32)
    likeness[near + 1] = restore(read(near)) @ asked
    scores = likeness[ordered + 1] + NEIGHBOURS * (likeness[ordered] + likeness[ordered + 2])
    best = np.argsort(-scores, kind="stable")[:most]
    return [(int(ordered[at]), float(scores[at])) for at in best]
