"""Meanings: embedded passages as small vectors, and the search for those nearest to a question.

A vector is stored in one byte a dimension. One bit of each dimension finds some hundred passages,
whose bytes are then compared. Needs NumPy, which nothing else in the engine does.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from condense.errors import EmbedderUnavailable
from condense.recall.passages import Near

Vectors = NDArray[np.float32]
Rows = NDArray[np.int8]
Signs = NDArray[np.uint8]

# Passages whose bytes are compared; what the passages before and after one count; and how much of
# its likeness to the mean is taken off: some are near to any question (as Conneau et al., 2018,
# take off a half; measured: docs/evaluation.md).
RESCORED, NEIGHBOURS, COMMON = 300, 0.25, 0.4
# One is so much in a byte: no value of a vector of length 1 with hundreds of them is near 0.3.
_ONE, _LARGEST = 400, 127


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
    """Return vectors of length 1 in one byte a dimension."""
    return np.clip(np.rint(vectors * _ONE), -_LARGEST, _LARGEST).astype(np.int8)


def centre_of(rows: Rows) -> Rows:
    """Return the mean of quantised vectors, from which their signs are taken.

    All vectors of a model have much in common: their signs around 0 hardly differ.
    """
    return np.rint(rows.mean(axis=0)).astype(np.int8)


def signs_of(rows: Rows, centre: Rows) -> Signs:
    """Return one bit a dimension of quantised vectors: 48 bytes for 384 dimensions."""
    return np.packbits(rows > centre, axis=1)


def nearest(
    asked: Vectors, centre: Rows, signs: Signs, read: Callable[[NDArray[np.intp]], Rows], most: int
) -> list[tuple[int, float]]:
    """Return the places of the nearest passages and their likenesses, the nearest first.

    ``asked`` is the vector of a question. ``signs`` has a row for each passage in the order in
    which they were said; ``read`` returns the quantised vectors of given places, in order.
    """
    bits = signs ^ signs_of(quantise(asked[None, :]), centre)
    asked = asked - centre.astype(np.float32) * np.float32(COMMON / _ONE)
    # Eight bytes at once, where there are so many.
    wide = bits.view(np.uint64) if bits.shape[1] % 8 == 0 else bits
    differing = np.bitwise_count(wide).sum(axis=1, dtype=np.uint16)
    ordered = np.argpartition(differing, min(RESCORED, len(signs)) - 1)[:RESCORED]
    near = np.unique(np.concatenate([ordered - 1, ordered, ordered + 1]))
    near = near[(near >= 0) & (near < len(signs))]
    likeness = np.zeros(len(signs) + 2, np.float32)
    # By one thread: more would spin for longer than they work.
    likeness[near + 1] = np.einsum("ij,j", read(near).astype(np.float32), asked) / _ONE
    # The first and the last have one neighbour alone.
    likeness[[0, -1]] = likeness[[1, -2]]
    scores = likeness[ordered + 1] + NEIGHBOURS * (likeness[ordered] + likeness[ordered + 2])
    best = np.argsort(-scores, kind="stable")[:most]
    return [(int(ordered[at]), float(scores[at])) for at in best]


def centred(vectors: Vectors, centre: Vectors) -> Vectors:
    """Return vectors as rows of length 1 from the mean of many, near which all of a model are."""
    rows = vectors - centre
    made: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return made


def weigh(vectors: Vectors, points: Rows, weights: Vectors) -> Vectors:
    """Return the sum of the weights of some points for each centred vector, near ones first.

    A point counts by e to the power of minus its squared distance.
    """
    near = vectors @ (points.astype(np.float32) / _ONE).T
    weighed: Vectors = np.exp(2 * near - 2) @ weights
    return weighed


class Embedded:
    """Embedded passages in memory, by the numbers of their messages and their own."""

    def __init__(self, embedder: Embedder, passages: Mapping[tuple[int, int], str]) -> None:
        self._embedder, self._passages = embedder, passages

    @cached_property
    def _rows(self) -> Rows:
        return quantise(self._embedder.embed([*self._passages.values()]))

    def nearest(self, question: str, most: int) -> list[Near]:
        """Return the passages nearest to a question; none if the embedder is unavailable."""
        if not self._passages:
            return []
        try:
            (asked,), rows = self._embedder.embed([question], asks=True), self._rows
        except EmbedderUnavailable:
            return []
        centre, keys = centre_of(rows), [*self._passages]
        found = nearest(asked, centre, signs_of(rows, centre), rows.__getitem__, most)
        return [Near(*keys[at], likeness) for at, likeness in found]
