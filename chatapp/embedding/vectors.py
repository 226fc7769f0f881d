"""Vectors: made by jobs of what a conversation hides, and searched for those near a question."""

import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import batched
from typing import TYPE_CHECKING, Any

import lazy_loader
from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import Q

import condense
from chatapp import background_jobs
from chatapp.agent.async_tasks import finish
from chatapp.agent.errors import SpendingLimitReached
from chatapp.embedding.embedders import Embedder, embedder_for
from chatapp.models import Conversation, Meanings, Message, MessageMeaning, message_store
from chatapp.models.database import execute, lock
from chatapp.models.meanings import mark_due

if TYPE_CHECKING:
    from numpy import intp
    from numpy.typing import NDArray

    from condense.recall.meanings import Rows, Vectors

# Loaded with the first vector.
np = lazy_loader.load("numpy")
log = logging.getLogger(__name__)

# Seconds for which a job works before others come in between.
SLICE = 5.0
# Messages that are read at once, passages that are embedded at once, rows of vectors, and messages
# of a long import.
MESSAGES, TOGETHER, ROWS, MANY = 8, 8, 500, 100
# Characters of a question, of which a token takes a millisecond; questions that are kept; and
# seconds for which nothing is asked of what has failed.
LONGEST, REMEMBERED, PAUSE = 400, 64, 60.0
# So many times as many passages as are wanted are looked at: some may be visible, or rewound.
LOOKED_AT = 4
# A message, and the number of its passage.
_PLACE = [("message", "<i8"), ("passage", "<u2")]
_VECTORS = """
    SELECT message_id, vectors FROM chatapp_messagemeaning
    WHERE embedder = %s AND message_id IN ({places})
"""

# One conversation at a time; questions wait for none.
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="embedding")
_QUESTIONS = ThreadPoolExecutor(2, thread_name_prefix="question")
_paused = {"until": 0.0}
# The latest questions, each with the name of the model and its vector.
asked: "OrderedDict[str, tuple[str, Vectors]]" = OrderedDict()


def enqueue(conversation: uuid.UUID) -> None:
    """Have the vectors made that a conversation lacks, where this server embeds."""
    mark_due(conversation)
    if embedder_for(conversation):
        key = str(conversation)
        background_jobs.enqueue("embed_messages", key=key, conversation=key)


def enqueue_due() -> None:
    """Have all vectors made that are lacking, or of a model that this server had before."""
    if embedder := embedder_for(uuid.UUID(int=0)):
        due = Meanings.objects.filter(~Q(due="") | ~Q(embedder=embedder.name))
        newest = due.filter(conversation__deleted_at=None).order_by("-conversation__updated_at")
        for pk in newest.values_list("pk", flat=True):
            enqueue(pk)


async def embed_messages(conversation: str) -> None:
    """Make vectors of what a conversation hides, for some seconds; another job goes on."""
    make = sync_to_async(make_vectors, thread_sensitive=False, executor=_THREAD)
    if await finish(make(pk := uuid.UUID(conversation))):
        await sync_to_async(enqueue)(pk)


def make_vectors(conversation: uuid.UUID) -> bool:
    """Make what vectors a conversation lacks, for some seconds; return whether it lacks more.

    A failure is logged, and what was made until then is searched.
    """
    embedder = embedder_for(conversation)
    meanings = Meanings.objects.filter(conversation=conversation).first()
    if embedder is None or meanings is None:
        return False
    said = Message.objects.written().filter(conversation=conversation, rewind_parent=None)
    # All of a long import may be hidden soon.
    wanted = said.filter(Q(hidden=True) | Q(conversation__source__messages__gte=MANY))
    lacking = wanted.exclude(meaning__embedder=embedder.name).order_by("-seq")
    end, is_over = time.monotonic() + SLICE, True
    try:
        for some in batched([*lacking.values_list("pk", flat=True)], MESSAGES):
            if not (is_over := time.monotonic() < end):
                break
            _store(conversation, embedder, some)
    except (condense.EmbedderUnavailable, SpendingLimitReached) as reason:
        log.warning("a conversation is not searched by meaning as yet: %s", reason)
        _index(meanings, embedder.name, is_over=False)
        return False
    return not (_index(meanings, embedder.name, is_over=is_over) and is_over)


def _store(conversation: uuid.UUID, embedder: Embedder, keys: Sequence[int]) -> None:
    """Store the vectors of messages, unless something in them was forgotten meanwhile."""
    rows = [*Message.objects.filter(pk__in=keys)]
    read = condense.parts_of(map(message_store.to_engine, rows))
    passages = [condense.embedded_passages(parts) for _message, parts in read]
    try:
        made = [_meaning_of(embedder, own) for own in passages]
    except condense.EmbedderUnavailable:
        # Texts are at fault where it embeds others.
        embedder.embed(["."])
        log.warning("messages can be found by their words only: %s", keys)
        made = [MessageMeaning() for _row in rows]
    with transaction.atomic():
        lock(Conversation, conversation)
        now = dict(Message.objects.filter(pk__in=keys).values_list("pk", "forgotten"))
        for row, one in zip(rows, made, strict=True):
            if now.get(row.pk, ()) == row.forgotten:
                one.message, one.embedder = row, embedder.name
                one.save()


def _meaning_of(embedder: Embedder, passages: Sequence[tuple[int, str]]) -> MessageMeaning:
    if not passages:
        return MessageMeaning()
    numbers = [number for number, _text in passages]
    texts = batched([text for _number, text in passages], TOGETHER)
    vectors = condense.quantise(np.concatenate([embedder.embed(some) for some in texts]))
    # Where a passage is blank, its row stays empty.
    rows = np.zeros((numbers[-1] + 1, vectors.shape[1]), np.int8)
    rows[numbers] = vectors
    return MessageMeaning(passages=len(rows), vectors=rows.tobytes())


def _index(meanings: Meanings, embedder: str, *, is_over: bool) -> bool:
    """Write anew what a search reads; return False where messages were changed meanwhile."""
    own = MessageMeaning.objects.filter(message__conversation=meanings.pk, embedder=embedder)
    rows = own.filter(passages__gt=0).order_by("message__seq")
    made: dict[str, Any] = {"dimensions": 0, "places": b"", "signs": b"", "centre": b""}
    for some in batched(rows.values_list("pk", "passages", "vectors").iterator(ROWS), ROWS):
        named = [(pk, at) for pk, count, _vectors in some for at in range(count)]
        stored = np.frombuffer(b"".join([bytes(one) for *_place, one in some]), np.int8)
        vectors = stored.reshape(len(named), -1)
        made["dimensions"] = vectors.shape[1]
        made["centre"] = made["centre"] or condense.centre_of(vectors).tobytes()
        made["places"] += np.array(named, _PLACE).tobytes()
        centre = np.frombuffer(made["centre"], np.int8)
        made["signs"] += condense.signs_of(vectors, centre).tobytes()
    newest = Meanings.objects.filter(pk=meanings.pk, due=meanings.due)
    return bool(newest.update(embedder=embedder, **made, **({"due": ""} if is_over else {})))


async def embed_question(conversation: uuid.UUID, text: str, *, unasked: bool = False) -> None:
    """Have a question at hand as a vector, where a conversation is searched by meaning.

    It is not where its owner does not want to recall ``unasked``. Nothing must be locked: an answer
    may take seconds.
    """
    embed = sync_to_async(_embed_question, thread_sensitive=False, executor=_QUESTIONS)
    await embed(conversation, text, unasked=unasked)


def _embed_question(conversation: uuid.UUID, text: str, *, unasked: bool) -> None:
    embedder = embedder_for(conversation)
    if embedder is None or not text.strip() or time.monotonic() < _paused["until"]:
        return
    found = Meanings.objects.filter(pk=conversation, embedder=embedder.name, dimensions__gt=0)
    if unasked:
        own, by_owner = "conversation__auto_recall", "conversation__owner__preferences__auto_recall"
        found = found.filter(Q(**{own: True}) | Q(**{own: None, by_owner: True}))
    if asked.get(text, ("",))[0] == embedder.name or not found.exists():
        return
    half = LONGEST // 2
    short = text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}"
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
    """Return the passages nearest to a question that are hidden, or stand up to a position.

    There are none unless it was embedded before.
    """
    if question not in asked:
        return []
    embedder, vector = asked[question]
    size = len(vector)
    own = Meanings.objects.filter(pk=conversation, embedder=embedder, dimensions=size)
    stored = own.values_list("places", "signs", "centre").first()
    if stored is None:
        return []
    places = np.frombuffer(stored[0], _PLACE)
    signs = np.frombuffer(stored[1], np.uint8).reshape(len(places), -1)

    def read(rows: "NDArray[intp]") -> "Rows":
        wanted = places[rows].tolist()
        keys = {message for message, _passage in wanted}
        sql = _VECTORS.format(places=", ".join(["%s"] * len(keys)))
        found, gone = dict(execute(sql, embedder, *keys)), bytes(size)
        parts = [found.get(one, b"")[at * size : (at + 1) * size] or gone for one, at in wanted]
        rows_of: Rows = np.frombuffer(b"".join(parts), np.int8)
        return rows_of.reshape(-1, size)

    centre = np.frombuffer(stored[2], np.int8)
    found = condense.nearest(vector, centre, signs, read, LOOKED_AT * most)
    near = [condense.Near._make((*places[at].tolist(), likeness)) for at, likeness in found]
    there = Message.objects.filter(pk__in={one.number for one in near}, rewind_parent=None)
    hidden = there.filter(Q(hidden=True) | Q(position__lte=until))
    shown = {*hidden.values_list("pk", flat=True)}
    return [one for one in near if one.number in shown][:most]
