"""Questions: embedded before anything is locked, where there is something to compare them with."""

import logging
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from asgiref.sync import sync_to_async
from django.db.models import Q

import condense
from chatapp.agent.errors import SpendingLimitReached
from chatapp.embedding.embedders import embedder_for
from chatapp.models import Meanings

if TYPE_CHECKING:
    from condense.recall.meanings import Vectors

log = logging.getLogger(__name__)

# Characters of a question, half of them of its end: a token takes a millisecond.
LONGEST = 400
# Seconds for which nothing is asked of what has failed.
PAUSE = 60.0

_THREADS = ThreadPoolExecutor(2, thread_name_prefix="question")
_failed_at = -PAUSE


class Asked(NamedTuple):
    """A question as a vector, and the model that made it."""

    embedder: str
    vector: "Vectors"


async def embed_question(
    conversation: uuid.UUID, text: str, *, unasked: bool = False
) -> Asked | None:
    """Return a question as a vector, None where a conversation is searched by words alone.

    So it is where nobody searches, and the owner does not want to recall ``unasked``.
    """
    embed = sync_to_async(_embed_question, thread_sensitive=False, executor=_THREADS)
    return await embed(conversation, text, unasked=unasked)


def _embed_question(conversation: uuid.UUID, text: str, *, unasked: bool) -> Asked | None:
    global _failed_at  # noqa: PLW0603 - of this process, as its workers are
    embedder = embedder_for(conversation)
    if embedder is None or not text.strip() or time.monotonic() < _failed_at + PAUSE:
        return None
    found = Meanings.objects.filter(pk=conversation, embedder=embedder.name, dimensions__gt=0)
    if unasked:
        by_owner = Q(conversation__owner__preferences__auto_recall=True)
        own = Q(conversation__auto_recall=True)
        found = found.filter(own | Q(by_owner, conversation__auto_recall=None))
    try:
        return _embed(embedder, text) if found.exists() else None
    except (condense.EmbedderUnavailable, SpendingLimitReached) as reason:
        log.warning("recall goes by words alone for a while: %s", reason)
        _failed_at = time.monotonic()
        return None


@lru_cache(64)
def _embed(embedder: condense.Embedder, text: str) -> Asked:
    """Return a question as a vector; once, though a message that waits is looked at twice."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    (vector,) = embedder.embed([text], asks=True)
    return Asked(embedder.name, vector)
