"""Stored vectors: made of what a conversation hides, and searched for those near a question."""

import logging
import time
import uuid
from collections.abc import Sequence
from itertools import batched
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Q
from numpy.typing import NDArray

import condense
from chatapp.agent.errors import SpendingLimitReached
from chatapp.embedding.embedders import EmbedderCrashed, embedder_for
from chatapp.embedding.questions import Asked
from chatapp.models import Conversation, Meanings, Message, MessageMeaning, message_store
from chatapp.models.database import execute, lock

log = logging.getLogger(__name__)

# Seconds for which a job works before others come in between.
SLICE = 5.0
# Messages that are read at once, passages that are embedded at once, and rows of vectors.
MESSAGES, TOGETHER, ROWS = 8, 8, 500
_NONE = np.zeros((0, 0), np.int8)
_PLACE = np.dtype([("message", "<i8"), ("passage", "<u2")])
_VECTORS = """
    SELECT v.message_id, v.vectors FROM chatapp_messagemeaning v
    JOIN chatapp_message m ON m.id = v.message_id
    WHERE v.message_id IN ({places}) AND v.embedder = %s AND m.conversation_id = %s
    AND (m.hidden OR m.position <= %s) AND m.rewind_parent IS NULL
"""


def make_vectors(conversation: uuid.UUID) -> bool:
    """Make what vectors a conversation lacks, for some seconds; return whether it lacks more.

    A failure is logged, and what was made until then is searched.
    """
    embedder = embedder_for(conversation)
    meanings = Meanings.objects.filter(conversation=conversation).first()
    if embedder is None or meanings is None:
        return False
    end, is_over = time.monotonic() + SLICE, True
    try:
        for some in batched(_lacking(conversation, embedder.name), MESSAGES):
            if not (is_over := time.monotonic() < end):
                break
            _store(conversation, embedder, some)
    except (condense.EmbedderUnavailable, SpendingLimitReached) as reason:
        log.warning("a conversation is not searched by meaning as yet: %s", reason)
        _index(meanings, embedder.name, is_over=False)
        return False
    return not (_index(meanings, embedder.name, is_over=is_over) and is_over)


def _lacking(conversation: uuid.UUID, embedder: str) -> list[int]:
    """Return messages without vectors, the newest first; an import's may be hidden soon."""
    own = Message.objects.written().filter(conversation=conversation, rewind_parent=None)
    wanted = own.filter(Q(hidden=True) | Q(conversation__source__isnull=False))
    lacking = wanted.exclude(meaning__embedder=embedder)
    return [*lacking.order_by("-seq").values_list("pk", flat=True)]


def _store(conversation: uuid.UUID, embedder: condense.Embedder, keys: Sequence[int]) -> None:
    """Store the vectors of messages, unless something in them was forgotten meanwhile."""
    rows = [*Message.objects.filter(pk__in=keys)]
    read = condense.parts_of(map(message_store.to_engine, rows))
    passages = [condense.embedded_passages(parts) for _message, parts in read]
    texts = [text for own in passages for _number, text in own]
    try:
        parts = [embedder.embed(some) for some in batched(texts, TOGETHER)]
    except EmbedderCrashed:
        # One of the texts may be at fault, or the machine, which then embeds none.
        embedder.embed(["."])
        log.warning("messages can't be searched by meaning, only by words: %s", keys)
        parts, passages = [], [[] for _row in rows]
    vectors, at = condense.quantise(np.concatenate(parts)) if parts else _NONE, 0
    made = []
    for row, own in zip(rows, passages, strict=True):
        # Where a passage is blank, its row stays empty.
        numbers = [number for number, _text in own]
        every = np.zeros((max(numbers, default=-1) + 1, vectors.shape[1]), np.int8)
        every[numbers] = vectors[at : (at := at + len(numbers))]
        made.append(MessageMeaning(pk=row.pk, embedder=embedder.name, passages=len(every)))
        made[-1].vectors = every.tobytes()
    with transaction.atomic():
        lock(Conversation, conversation)
        now = dict(Message.objects.filter(pk__in=keys).values_list("pk", "forgotten"))
        MessageMeaning.objects.bulk_create(
            [
                one
                for one, row in zip(made, rows, strict=True)
                if now.get(row.pk, ()) == row.forgotten
            ],
            update_conflicts=True,
            unique_fields=["message"],
            update_fields=["embedder", "passages", "vectors"],
        )


def _index(meanings: Meanings, embedder: str, *, is_over: bool) -> bool:
    """Write anew what a search reads; return False where messages were changed meanwhile."""
    own = MessageMeaning.objects.filter(message__conversation=meanings.pk, embedder=embedder)
    rows = own.filter(passages__gt=0).order_by("message__seq")
    made: dict[str, Any] = {"dimensions": 0, "places": b"", "signs": b"", "centre": b""}
    for some in batched(rows.values_list("pk", "passages", "vectors").iterator(ROWS), ROWS):
        named = [(pk, at) for pk, count, _vectors in some for at in range(count)]
        stored = np.frombuffer(b"".join([bytes(one) for *_place, one in some]), np.int8)
        vectors = stored.reshape(len(named), -1)
        if not made["signs"]:
            centre = condense.centre_of(vectors)
            made |= {"dimensions": len(centre), "centre": centre.tobytes()}
        made["places"] += np.array(named, _PLACE).tobytes()
        made["signs"] += condense.signs_of(vectors, centre).tobytes()
    newest = Meanings.objects.filter(pk=meanings.pk, due=meanings.due)
    return bool(newest.update(embedder=embedder, **made, **({"due": ""} if is_over else {})))


def find_nearest(
    conversation: uuid.UUID, asked: Asked, until: int, most: int
) -> list[condense.Near]:
    """Return the passages nearest to a question that are hidden, or stand up to a position."""
    size = len(asked.vector)
    own = Meanings.objects.filter(pk=conversation, embedder=asked.embedder, dimensions=size)
    stored = own.values_list("places", "signs", "centre").first()
    if stored is None:
        return []
    places = np.frombuffer(stored[0], _PLACE)
    signs = np.frombuffer(stored[1], np.uint8).reshape(len(places), -1)
    shown = set[int]()

    def read(rows: NDArray[np.intp]) -> NDArray[np.int8]:
        keys = {*places["message"][rows].tolist()}
        statement = _VECTORS.format(places=", ".join(["%s"] * len(keys)))
        found = dict(execute(statement, *keys, asked.embedder, conversation, until))
        vectors = np.zeros((len(rows), size), np.int8)
        for at, (message, passage) in enumerate(places[rows].tolist()):
            if message in found:
                vectors[at] = np.frombuffer(found[message], np.int8, size, passage * size)
        shown.update(rows[vectors.any(axis=1)].tolist())
        return vectors

    centre = np.frombuffer(stored[2], np.int8)
    found = condense.nearest(asked.vector, centre, signs, read, len(places))
    near = [(places[at], likeness) for at, likeness in found if at in shown][:most]
    return [condense.Near(int(one[0]), int(one[1]), likeness) for one, likeness in near]
