"""Rules by meaning: sentences that set one without a word that says so, as "we keep kosher".

``rule_examples.npz`` has the vectors of labelled sentences, of one model, and the weight of each.
A sentence sets a rule if those that it is near to do. It is made by
``python -m tests.evaluation.rule_examples``.
"""

import logging
import uuid
from collections.abc import Sequence
from functools import cache
from itertools import batched
from pathlib import Path
from typing import Any

import lazy_loader

import condense
from chatapp.conversations.embedding.embedders import SENTENCES, PackagedModel, embedder_for

np = lazy_loader.load("numpy")  # with the first vector
log = logging.getLogger(__name__)

# Sentences that are embedded for one condensation, and at once; and answers that are remembered.
MOST_NEW, EMBEDDED_TOGETHER, REMEMBERED = 100, 8, 10_000
_known: dict[str, bool] = {}


def rules_among(sentences: Sequence[str]) -> list[str]:
    """Return the sentences that set a rule; none if the model is missing."""
    embedder = embedder_for(uuid.UUID(int=0))
    if not isinstance(embedder, PackagedModel):
        return []
    if embedder.name != str((examples := _examples())["model"]):
        return []
    if len(_known) > REMEMBERED:
        _known.clear()
    new = [one for one in dict.fromkeys(sentences) if one not in _known][:MOST_NEW]
    try:
        for some in batched(new, EMBEDDED_TOGETHER):
            vectors = embedder.embed(some, asks=True, process=SENTENCES)
            rows = condense.centred(vectors, examples["centre"])
            found = condense.weigh(rows, examples["points"], examples["weights"])
            _known.update(zip(some, (found > examples["least"]).tolist(), strict=True))
    except condense.EmbedderUnavailable as reason:
        log.warning("rules are told by their words alone for now: %s", reason)
    return [one for one in sentences if _known.get(one)]


@cache
def _examples() -> dict[str, Any]:
    with np.load(Path(__file__).with_name("rule_examples.npz")) as stored:
        return dict(stored)
