"""Questions: embedded once each, before anything is locked, where there is something to compare."""

import asyncio
import time
import uuid
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async
from django.db.models import Q

import condense
from chatapp.embedding.embedders import Embedder, embedder_for
from chatapp.models import Meanings, ModelCall
from chatapp.models.database import reading

if TYPE_CHECKING:
    from chatapp.embedding.stored_vectors import Asked

# Characters of a question, half of them of its end: a token takes a millisecond.
LONGEST = 400
# Questions that are remembered, and seconds for which nothing is asked of what has failed.
REMEMBERED, PAUSE = 64, 60.0

_THREADS = ThreadPoolExecutor(2, thread_name_prefix="question")


class Questions:
    """Embeds questions for this process, and remembers the latest."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], Asked] = OrderedDict()
        self._paused_until = 0.0

    async def embed(
        self, conversation: uuid.UUID, text: str, *, unasked: bool = False
    ) -> "Asked | None":
        """Return a question as a vector, None where a conversation is searched by words alone.

        So it is where nobody searches, and the owner does not want to recall ``unasked``.
        """
        embedder = embedder_for(conversation)
        if embedder is None or not text.strip() or time.monotonic() < self._paused_until:
            return None
        if not await reading(_has_vectors)(conversation, embedder.name, unasked=unasked):
            return None
        key = embedder.name, text
        if known := self._known.get(key):
            return known
        run = asyncio.get_running_loop().run_in_executor
        try:
            asked = self._known[key] = await run(_THREADS, _embed, embedder, text)
        except condense.EmbedderUnavailable:
            self._paused_until = time.monotonic() + PAUSE
            return None
        finally:
            if embedder.calls:
                await sync_to_async(ModelCall.objects.bulk_create)(embedder.calls)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return asked


questions = Questions()


def _has_vectors(conversation: uuid.UUID, embedder: str, *, unasked: bool) -> bool:
    found = Meanings.objects.filter(pk=conversation, embedder=embedder, dimensions__gt=0)
    if unasked:
        by_owner = Q(conversation__owner__preferences__auto_recall=True)
        own = Q(conversation__auto_recall=True)
        found = found.filter(own | Q(by_owner, conversation__auto_recall=None))
    return found.exists()


def _embed(embedder: Embedder, text: str) -> "Asked":
    from chatapp.embedding.stored_vectors import Asked  # noqa: PLC0415 - with NumPy

    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    (vector,) = embedder.embed([text], asks=True)
    return Asked(embedder.name, vector)
