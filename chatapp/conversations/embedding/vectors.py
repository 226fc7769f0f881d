"""Vectors of hidden messages: jobs make them, and a search finds those near a question."""

import asyncio
import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import batched
from threading import Event
from typing import Any

import lazy_loader
from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import Q

import condense
from chatapp.agent.async_tasks import finish
from chatapp.agent.errors import SpendingLimitReached
from chatapp.conversations.embedding.embedders import PASSAGES, embedder_for
from chatapp.models import Conversation, Meanings, Message, MessageMeaning, message_store
from chatapp.models.database import STOP, Stopped, execute, go_on, lock, threads
from chatapp.models.meanings import delete_vectors, mark_due
from chatapp.operations import background_jobs

np = lazy_loader.load("numpy")  # with the first vector
log = logging.getLogger(__name__)

SLICE = 5.0  # seconds of a job, before other jobs have their turn
LONGEST = 10.0  # seconds that a question waits for vectors
TOGETHER = 8  # passages that are embedded at once
ROWS = 500  # rows that are read at once
MANY = 100  # messages of a long import
HALF = 200  # characters of half a question
REMEMBERED, PAUSE = 64, 60.0  # questions that are kept; seconds of rest after a failure
# Keys stand in the text: Django takes longer than the database for this many parameters.
_THERE = (
    "SELECT v.message_id, v.vectors FROM chatapp_messagemeaning v JOIN chatapp_message m "
    "ON m.id = v.message_id WHERE v.message_id IN ({}) AND v.embedder = %s "
    "AND m.rewind_parent IS NULL AND (m.hidden OR m.position <= %s)"
)
# A message, and the number of its passage.
PLACE = [("message", "<i8"), ("passage", "<u2")]

# One conversation at a time.
_THREAD, _QUESTIONS = threads(1, "embedding"), threads(2, "question")
_paused = {"until": 0.0}
# The latest questions, each with the name of the model and its vector.
asked: "OrderedDict[str, tuple[str, condense.Vectors]]" = OrderedDict()


def enqueue(conversation: uuid.UUID) -> None:
    """Enqueue a job for the vectors that a conversation lacks, if this server embeds."""
    mark_due(conversation)
    if embedder_for(conversation):
        key = str(conversation)
        background_jobs.enqueue("embed_messages", key=key, conversation=key)


def enqueue_due() -> None:
    """Enqueue jobs for all vectors that are missing or were made by another model."""
    if embedder := embedder_for(uuid.UUID(int=0)):
        due = Meanings.objects.filter(~Q(due="") | ~Q(embedder=embedder.name))
        newest = due.filter(conversation__deleted_at=None).order_by("-conversation__updated_at")
        for pk in newest.values_list("pk", flat=True):
            enqueue(pk)


async def embed_messages(conversation: str) -> None:
    """Make vectors of hidden messages for some seconds; another job makes the rest."""
    make = sync_to_async(make_vectors, thread_sensitive=False, executor=_THREAD)
    STOP.set(stop := Event())
    work = asyncio.ensure_future(make(pk := uuid.UUID(conversation)))
    try:
        if await asyncio.shield(work):
            await sync_to_async(enqueue)(pk)
    except asyncio.CancelledError:
        # A long message takes minutes, and on a busy machine a part of it does.
        stop.set()
        PASSAGES.interrupt()
        with suppress(Stopped):
            await finish(work)
        raise


def make_vectors(conversation: uuid.UUID, *, visible: bool = False) -> bool:
    """Make missing vectors of a conversation for some seconds; return True if more are missing.

    Vectors of people's ``visible`` messages are made as well if a question is about them.
    """
    embedder = embedder_for(conversation)
    meanings = Meanings.objects.filter(conversation=conversation).first()
    if embedder is None or meanings is None:
        return False
    said = Message.objects.written().filter(conversation=conversation, rewind_parent=None)
    # All of a long import may be hidden soon.
    is_wanted = Q(hidden=True) | Q(conversation__source__messages__gte=MANY)
    wanted = said.filter(is_wanted | Q(role="user") if visible else is_wanted)
    lacking = wanted.exclude(meaning__embedder=embedder.name).order_by("-seq")
    end, is_over = time.monotonic() + SLICE, True
    try:
        for key in lacking.values_list("pk", flat=True):
            if not (is_over := time.monotonic() < end):
                break
            _store(conversation, embedder, key)
    except (condense.EmbedderUnavailable, SpendingLimitReached) as reason:
        log.warning("a conversation is not searched by meaning as yet: %s", reason)
        _index(meanings, embedder.name, is_over=False)
        return False
    return not (_index(meanings, embedder.name, is_over=is_over) and is_over)


def _store(conversation: uuid.UUID, embedder: condense.Embedder, key: int) -> None:
    """Store the vectors of a message, unless something in it was forgotten meanwhile."""
    row = Message.objects.get(pk=key)
    ((_message, parts),) = condense.parts_of([message_store.to_engine(row)])
    passages = condense.embedded_passages(parts)
    texts, vectors = [text for _number, text in passages], list[Any]()
    # On a busy machine many together may take too long.
    for together in (TOGETHER, 1):
        try:
            vectors = [*_embed(embedder, batched(texts, together))]
            break
        except condense.EmbedderUnavailable:
            go_on()
            # The text is at fault where another one is embedded, and it is refused once more.
            embedder.embed(["."])
    else:
        log.warning("message %s can be found by its words only", key)
    made = MessageMeaning(message=row, embedder=embedder.name)
    if vectors:
        # The row of a blank passage stays empty.
        rows = np.zeros((passages[-1][0] + 1, vectors[0].shape[1]), np.int8)
        rows[[number for number, _text in passages]] = np.concatenate(vectors)
        made.passages, made.vectors = len(rows), rows.tobytes()
    with transaction.atomic():
        lock(Conversation, conversation)
        now = Message.objects.filter(pk=key).values_list("forgotten", flat=True)
        if [*now] == [row.forgotten]:
            made.save()


def _embed(embedder: condense.Embedder, texts: Iterable[Sequence[str]]) -> Iterator[Any]:
    """Yield the quantised vectors of each group of texts; raise Stopped between two groups."""
    for some in texts:
        go_on()
        yield condense.quantise(embedder.embed(some))


def _index(meanings: Meanings, embedder: str, *, is_over: bool) -> bool:
    """Rewrite the rows that a search reads; return False if messages or vectors changed."""
    own = MessageMeaning.objects.filter(message__conversation=meanings.pk, passages__gt=0)
    rows = own.filter(embedder=embedder).order_by("message__seq")
    made: dict[str, Any] = {"places": b"", "signs": b"", "centre": b""}
    for some in batched(rows.values_list("pk", "passages", "vectors").iterator(ROWS), ROWS):
        named = [(pk, at) for pk, count, _vectors in some for at in range(count)]
        if len({len(one) // count for _pk, count, one in some} | {len(made["centre"])} - {0}) > 1:
            # The model of this name had vectors of another size before.
            delete_vectors([*rows.values_list("pk", flat=True)])
            return False
        stored = np.frombuffer(b"".join([bytes(one) for *_place, one in some]), np.int8)
        vectors = stored.reshape(len(named), -1)
        made["centre"] = made["centre"] or condense.centre_of(vectors).tobytes()
        made["places"] += np.array(named, PLACE).tobytes()
        signs = condense.signs_of(vectors, np.frombuffer(made["centre"], np.int8))
        made["signs"] += signs.tobytes()
    newest = Meanings.objects.filter(pk=meanings.pk, due=meanings.due)
    return bool(newest.update(embedder=embedder, **made, **({"due": ""} if is_over else {})))


async def embed_question(conversation: uuid.UUID, text: str, *, unasked: bool = False) -> None:
    """Keep a question as a vector, if a conversation is searched by meaning.

    With ``unasked`` automatic recall has to be on. Hold no lock: this may take seconds, LONGEST at
    most.
    """
    embed = sync_to_async(_embed_question, thread_sensitive=False, executor=_QUESTIONS)
    before = STOP.set(stop := Event())
    try:
        async with asyncio.timeout(LONGEST):
            await embed(conversation, text, unasked=unasked)
    except TimeoutError:
        log.warning("recall goes by words alone for a question: it takes too long to embed")
    finally:
        stop.set()
        STOP.reset(before)


def _embed_question(conversation: uuid.UUID, text: str, *, unasked: bool) -> None:
    embedder = embedder_for(conversation)
    if embedder is None or not text.strip() or time.monotonic() < _paused["until"]:
        return
    found = Meanings.objects.filter(pk=conversation)
    if unasked:
        own, by_owner = "conversation__auto_recall", "conversation__owner__preferences__auto_recall"
        found = found.filter(Q(**{own: True}) | Q(**{own: None, by_owner: True}))
        if condense.find_forget_requests(text):
            # It may mean words that are still visible.
            mark_due(conversation)
            if found.exists():
                make_vectors(conversation, visible=True)
    found = found.filter(embedder=embedder.name)
    if asked.get(text, ("",))[0] == embedder.name or not found.exclude(centre=b"").exists():
        return
    short = text if len(text) <= 2 * HALF else f"{text[:HALF]} … {text[-HALF:]}"
    try:
        asked[text] = embedder.name, embedder.embed([short], asks=True)[0]
    except (condense.EmbedderUnavailable, SpendingLimitReached) as reason:
        log.warning("recall goes by words alone for a while: %s", reason)
        _paused["until"] = time.monotonic() + PAUSE
    if len(asked) > REMEMBERED:
        asked.popitem(last=False)


def find_nearest(
    conversation: uuid.UUID, question: str, until: int, most: int
) -> list[condense.Near]:
    """Return the passages nearest to a kept question, hidden or up to the position ``until``."""
    if (kept := asked.get(question)) is None:
        return []
    (embedder, vector), size = kept, len(kept[1])
    own = Meanings.objects.filter(pk=conversation, embedder=embedder)
    stored = own.values_list("places", "signs", "centre").first()
    if stored is None or len(stored[2]) != size:
        return []
    places = np.frombuffer(stored[0], PLACE)
    signs = np.frombuffer(stored[1], np.uint8).reshape(len(places), -1)
    there = dict[int, bytes]()

    def read(rows: Any) -> Any:
        wanted, gone = places[rows].tolist(), bytes(size)
        keys = ", ".join({str(message) for message, _passage in wanted})
        there.update(execute(_THERE.format(keys), embedder, until))
        parts = [there.get(one, b"")[at * size : (at + 1) * size] or gone for one, at in wanted]
        return np.frombuffer(b"".join(parts), np.int8).reshape(-1, size)

    found = condense.nearest(vector, np.frombuffer(stored[2], np.int8), signs, read, 4 * most)
    near = [condense.Near._make((*places[at].tolist(), likeness)) for at, likeness in found]
    return [one for one in near if one.number in there][:most]
