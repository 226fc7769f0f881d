"""Stored vectors: made of what a conversation hides, and searched for those near a question."""

import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import batched

import numpy as np
from django.db import transaction
from django.db.models import Q
from numpy.typing import NDArray

import condense
from chatapp.agent.errors import SpendingLimitReached
from chatapp.embedding.embedders import Embedder, EmbedderCrashed, embedder_for
from chatapp.models import Conversation, Meanings, Message, MessageMeaning, ModelCall, message_store
from chatapp.models.database import execute, lock
from chatapp.models.spending import check_spending

log = logging.getLogger(__name__)

# Seconds for which a job works before others come in between.
SLICE = 5.0
# Messages that are read at once, and rows of vectors.
MESSAGES, ROWS = 8, 500
_NONE = np.zeros((0, 0), np.int8)
_PLACE = np.dtype([("message", "<i8"), ("passage", "<u2")])
# Vectors of messages that may be recalled.
_VECTORS = """
    SELECT v.message_id, v.vectors FROM chatapp_messagemeaning v
    JOIN chatapp_message m ON m.id = v.message_id
    WHERE v.message_id IN ({places}) AND v.embedder = %s AND m.conversation_id = %s
    AND (m.hidden OR m.position <= %s) AND m.rewind_parent IS NULL
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as a vector, and the model that made it."""

    embedder: str
    vector: NDArray[np.float32]


def make_vectors(conversation: uuid.UUID) -> bool:
    """Make what vectors a conversation lacks, for some seconds; return whether it lacks more.

    A failure is logged, and what was made until then is searched.
    """
    embedder = embedder_for(conversation)
    meanings = Meanings.objects.filter(conversation=conversation).first()
    if embedder is None or meanings is None:
        return False
    end, is_over, goes_on = time.monotonic() + SLICE, False, True
    before: int | None = None
    try:
        while not is_over and time.monotonic() < end:
            rows = _lacking(conversation, embedder.name, before)
            is_over, before = not rows, rows[-1].seq if rows else None
            _store(conversation, embedder, rows)
    except (condense.EmbedderUnavailable, SpendingLimitReached) as reason:
        log.warning("a conversation is not searched by meaning as yet: %s", reason)
        goes_on = False
    is_newest = _index(meanings, embedder.name, is_over=is_over)
    return goes_on and not (is_over and is_newest)


def _lacking(conversation: uuid.UUID, embedder: str, before: int | None) -> list[Message]:
    """Return the newest messages without vectors; those of an import may be hidden soon."""
    own = Message.objects.written().filter(conversation=conversation, rewind_parent=None)
    wanted = own.filter(Q(hidden=True) | Q(conversation__source__isnull=False))
    if before is not None:
        wanted = wanted.filter(seq__lt=before)
    return [*wanted.exclude(meaning__embedder=embedder).order_by("-seq")[:MESSAGES]]


def _store(conversation: uuid.UUID, embedder: Embedder, rows: Sequence[Message]) -> None:
    """Store the vectors of messages, unless something in them was forgotten meanwhile."""
    check_spending(conversation)
    read = condense.parts_of(map(message_store.to_engine, rows))
    passages = [condense.embedded_passages(parts) for _message, parts in read]
    try:
        made = [*_meanings(embedder, rows, passages)]
    finally:
        ModelCall.objects.bulk_create(embedder.calls)
        embedder.calls.clear()
    with transaction.atomic():
        lock(Conversation, conversation)
        there = Message.objects.filter(pk__in=[row.pk for row in rows])
        forgotten = dict(there.values_list("pk", "forgotten"))
        MessageMeaning.objects.bulk_create(
            [one for one in made if forgotten.get(one.message_id, ()) == one.message.forgotten],
            update_conflicts=True,
            unique_fields=["message"],
            update_fields=["embedder", "passages", "vectors"],
        )


def _meanings(
    embedder: Embedder, rows: Sequence[Message], passages: Sequence[list[tuple[int, str]]]
) -> Iterator[MessageMeaning]:
    texts = [text for own in passages for _number, text in own]
    try:
        parts = [embedder.embed(some) for some in batched(texts, embedder.together)]
    except EmbedderCrashed:
        # One of the texts may be at fault, or the machine, which then embeds none.
        embedder.embed(["."])
        if len(rows) > 1:
            for row, own in zip(rows, passages, strict=True):
                yield from _meanings(embedder, [row], [own])
            return
        log.warning("message %s can't be searched by meaning: it can't be embedded", rows[0].pk)
        parts, passages = [], [[]]
    vectors, at = condense.quantise(np.concatenate(parts)) if parts else _NONE, 0
    for row, own in zip(rows, passages, strict=True):
        # Where a passage is blank, its row stays empty.
        numbers = [number for number, _text in own]
        every = np.zeros((max(numbers, default=-1) + 1, vectors.shape[1]), np.int8)
        every[numbers] = vectors[at : (at := at + len(numbers))]
        yield MessageMeaning(
            message=row, embedder=embedder.name, passages=len(every), vectors=every.tobytes()
        )


def _index(meanings: Meanings, embedder: str, *, is_over: bool) -> bool:
    """Write anew what a search reads; return False where messages were changed meanwhile."""
    stored = MessageMeaning.objects.filter(
        message__conversation=meanings.pk, embedder=embedder, passages__gt=0
    )
    rows = stored.order_by("message__seq").values_list("message", "passages", "vectors")
    places, signs, dimensions = b"", b"", 0
    for some in batched(rows.iterator(chunk_size=ROWS), ROWS):
        dimensions = dimensions or len(some[0][2]) // some[0][1]
        alike = [one for one in some if len(one[2]) == one[1] * dimensions]
        vectors = np.frombuffer(b"".join([bytes(one[2]) for one in alike]), np.int8)
        signs += condense.signs_of(vectors.reshape(-1, dimensions)).tobytes()
        named = [(pk, at) for pk, count, _vectors in alike for at in range(count)]
        places += np.array(named, _PLACE).tobytes()
    made = {"embedder": embedder, "dimensions": dimensions, "places": places, "signs": signs}
    newest = Meanings.objects.filter(pk=meanings.pk, due=meanings.due)
    return bool(newest.update(**made, **({"due": ""} if is_over else {})))


def find_nearest(
    conversation: uuid.UUID, asked: Asked, until: int, most: int
) -> list[condense.Near]:
    """Return the passages nearest to a question that are hidden, or stand up to a position."""
    own = Meanings.objects.filter(conversation=conversation, embedder=asked.embedder)
    row = own.filter(dimensions=len(asked.vector)).values_list("places", "signs").first()
    if row is None:
        return []
    places = np.frombuffer(row[0], _PLACE)
    shown = set[int]()

    def read(rows: NDArray[np.intp]) -> NDArray[np.int8]:
        wanted = places[rows].tolist()
        keys = {message for message, _passage in wanted}
        statement = _VECTORS.format(places=", ".join(["%s"] * len(keys)))
        stored = dict(execute(statement, *keys, asked.embedder, conversation, until))
        size = len(asked.vector)
        vectors = np.zeros((len(rows), size), np.int8)
        for at, (message, passage) in enumerate(wanted):
            if message in stored:
                vectors[at] = np.frombuffer(stored[message], np.int8, size, passage * size)
        shown.update(rows[vectors.any(axis=1)].tolist())
        return vectors

    signs = np.frombuffer(row[1], np.uint8).reshape(len(places), -1)
    found = condense.nearest(asked.vector, signs, read, len(places))
    near = [(places[at], likeness) for at, likeness in found if at in shown][:most]
    return [condense.Near(int(one[0]), int(one[1]), likeness) for one, likeness in near]
