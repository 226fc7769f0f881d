"""Jobs that embed what a conversation hides, behind what people wait for."""

import uuid
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import sync_to_async
from django.db import connections
from django.db.models import Q

from chatapp import background_jobs
from chatapp.agent.async_tasks import finish
from chatapp.embedding.embedders import embedder_for
from chatapp.models import Meanings
from chatapp.models.meanings import mark_due

# Conversations for which jobs are enqueued at a start; others follow with their next turn.
MOST = 1_000

# One conversation at a time.
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="embedding")


async def embed_messages(conversation: str) -> None:
    """Make vectors of what a conversation hides, for some seconds; another job goes on."""
    make = sync_to_async(_make, thread_sensitive=False, executor=_THREAD)
    if await finish(make(uuid.UUID(conversation))):
        await sync_to_async(enqueue)(uuid.UUID(conversation))


def _make(conversation: uuid.UUID) -> bool:
    from chatapp.embedding.stored_vectors import make_vectors  # noqa: PLC0415 - with NumPy

    try:
        return make_vectors(conversation)
    finally:
        connections.close_all()


def begin(conversation: uuid.UUID) -> None:
    """Have the vectors made of what a conversation hides, and of all of an imported one."""
    mark_due(conversation)
    enqueue(conversation)


def enqueue(conversation: uuid.UUID) -> None:
    """Have the vectors made that a conversation lacks, where this server embeds."""
    if embedder_for(conversation):
        key = str(conversation)
        background_jobs.enqueue("embed_messages", key=key, conversation=key)


def enqueue_due() -> None:
    """Have all vectors made that are lacking, or of a model that this server had before."""
    if embedder := embedder_for(uuid.UUID(int=0)):
        due = Meanings.objects.filter(~Q(due="") | ~Q(embedder=embedder.name))
        newest = due.filter(conversation__deleted_at=None).order_by("-conversation__updated_at")
        for pk in newest.values_list("pk", flat=True)[:MOST]:
            enqueue(pk)
