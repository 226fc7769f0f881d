"""Rows of storage: appending, reading, condensing and rewinding a stored conversation."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from itertools import batched
from typing import Any

import numpy as np
from asgiref.sync import sync_to_async
from django.db import connection, transaction

import condense
from chatapp.conversations.context import sizes, turn_context
from chatapp.conversations.embedding import vectors
from chatapp.conversations.toolbox import history_search
from chatapp.models import (
    Conversation,
    Meanings,
    Message,
    MessageMeaning,
    Preferences,
    Profile,
    Rewind,
    hidden_messages,
    message_store,
)
from tests.bench.clock import beside, many
from tests.bench.conversations import WORDS, make_conversation, make_owner
from tests.bench.table import Row

LONG, LONGEST, VISIBLE = 10_000, 100_000, 200
QUESTION, DIMENSIONS = "Why did the lazy fox jump?", 384
# Costs that do not depend on what is stored may differ by this factor at most.
ALIKE = 1.5
SUMMARY = "<summary>\n1. Primary Request and Intent:\n   - Everything.\n</summary>"
INSERT, READ, UPDATE = "bare INSERT and commit", "bare SELECT and json.loads", "bare UPDATE"


def measure_storage() -> Iterator[Row]:
    """Yield the rows of all that works on a database."""
    owner, profile = make_owner()
    make = partial(make_conversation, owner, profile)
    long, longest = make(LONG), make(LONGEST)
    yield from measure_appending(long, longest)
    condensed = make(LONGEST, VISIBLE)
    yield measure_reading(condensed)
    yield from measure_recalling(make(LONG, VISIBLE), condensed)
    yield measure_rewinding(longest)
    yield measure_condensing(longest, profile)


def append(conversation: Conversation, text: str = WORDS) -> Message:
    """Append a message as the agent does: count it, insert it, commit."""
    message = condense.Message("user", (condense.TextBlock(text),))
    tokens = condense.count_message(message, sizes.COUNTER)
    return message_store.append_message(conversation.pk, message, tokens=tokens)


def measure_appending(long: Conversation, longest: Conversation) -> Iterator[Row]:
    """Append to conversations of different lengths."""
    work = many(partial(append, longest))
    here, bare = beside(work, many(partial(_insert, longest)))
    yield Row(f"append a message to {LONGEST:,}", here / 40, "ms", 130, INSERT, bare / 40)
    there, here = beside(many(partial(append, long)), work)
    yield Row("…", here / 40, "ms", ALIKE, f"the same to {LONG:,}", there / 40)


def _insert(conversation: Conversation) -> None:
    """Put the same text into a table of its own, over the same connection."""
    with connection.cursor() as cursor:
        raw = cursor.connection
        raw.execute("CREATE TABLE IF NOT EXISTS bare (content TEXT)")
        raw.execute("INSERT INTO bare VALUES (?)", (json.dumps([{"type": "text", "text": WORDS}]),))


def measure_reading(longest: Conversation) -> Row:
    """Read what the model sees and shape it into a request."""

    def shape() -> None:
        condense.shape_request(message_store.read_effective(longest.pk))

    def read() -> None:
        statement = (
            "SELECT content FROM chatapp_message WHERE conversation_id = %s AND hidden = 0"
            " ORDER BY position, seq"
        )
        with connection.cursor() as cursor:
            cursor.execute(statement, [longest.pk.hex])
            for (content,) in cursor.fetchall():
                json.loads(content)

    here, bare = beside(many(shape, 10), many(read, 10))
    work = f"read and shape {VISIBLE} visible of {LONGEST:,}"
    return Row(work, here / 10, "ms", 30, READ, bare / 10)


def measure_recalling(long: Conversation, longest: Conversation) -> Iterator[Row]:
    """Search what is hidden of conversations of different lengths with a message's words."""

    def recall(conversation: Conversation) -> None:
        history_search.StoredRecall(conversation.pk)(QUESTION, condense.MOST_PASSAGES)

    work, other = (many(partial(recall, one)) for one in (longest, long))
    here, there = beside(work, other)
    yield Row(f"recall of {LONGEST:,}", here / 40, "ms", ALIKE, f"the same of {LONG:,}", there / 40)
    embed(longest)
    here, _ = beside(work, int)
    yield Row("… by meaning too", here / 40, "ms", 3, f"the same of {LONG:,} by words", there / 40)


def embed(conversation: Conversation) -> None:
    """Store a vector for each message, as far from all others as it may be, and the question's."""
    dice, name, places = np.random.default_rng(7), "bench", list[tuple[int, int]]()
    made = condense.quantise(_unit(dice.normal(size=(LONGEST, DIMENSIONS))))
    keys = conversation.messages.order_by("seq").values_list("pk", flat=True)
    for some in batched(zip(keys, made, strict=True), LONG):
        rows = [
            MessageMeaning(message_id=key, embedder=name, passages=1, vectors=one.tobytes())
            for key, one in some
        ]
        MessageMeaning.objects.bulk_create(rows)
        places += [(key, 0) for key, _one in some]
    centre = condense.centre_of(made)
    Meanings.objects.create(
        conversation=conversation,
        embedder=name,
        places=np.array(places, vectors.PLACE).tobytes(),
        signs=condense.signs_of(made, centre).tobytes(),
        centre=centre.tobytes(),
    )
    vectors.asked[QUESTION] = name, _unit(dice.normal(size=(1, DIMENSIONS)))[0]


def _unit(rows: Any) -> Any:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("f4")


def _update(conversation: Conversation, column: str, *, since: int) -> Callable[[], None]:
    """Make a bare update of the rows from a number on, which is taken back each time."""
    changed = f"UPDATE chatapp_message SET hidden = 1, {column} = %s"  # noqa: S608 - a name of ours
    statement = f"{changed} WHERE conversation_id = %s AND seq >= %s"

    def work() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, [uuid.uuid4().hex, conversation.pk.hex, since])
            transaction.set_rollback(True)

    return work


def measure_rewinding(conversation: Conversation) -> Row:
    """Go back to the middle; it is undone before the next run."""

    def undo() -> None:
        hidden_messages.undo_rewind(
            Rewind.objects.filter(conversation=conversation).latest("created_at")
        )

    here, bare = beside(
        partial(hidden_messages.rewind, conversation.pk, first_hidden_seq=LONGEST // 2),
        _update(conversation, "rewind_parent", since=LONGEST // 2),
        times=3,
        after=undo,
    )
    return Row(f"rewind to the middle of {LONGEST:,}", here, "ms", 3, UPDATE, bare)


class InstantModel:
    """Summarises at once, from the conversation's own prompt, as Claude does."""

    supports_images = True
    caches_prompts = True

    async def stream(self, _request: object) -> AsyncIterator[condense.Chunk]:
        """Yield the summary in one piece."""
        yield condense.TextChunk(SUMMARY)


class Committing(condense.NullLog):
    """Applies what was condensed, and takes it back after the run."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    async def succeeded(self, _attempt: condense.Attempt, reduction: condense.Reduction) -> None:
        """Insert the summary, hide what it stands for, commit."""
        self.made = await sync_to_async(hidden_messages.apply_reduction)(
            self.conversation.pk, reduction
        )

    def undo(self) -> None:
        """Show the history again, without the summary, so that each run does the same."""
        hidden_messages.undo_reduction(self.made)
        self.made.delete()


def measure_condensing(conversation: Conversation, profile: Profile) -> Row:
    """Condense all of a history: plan it, write the request, apply the result, commit."""
    history = message_store.read_effective(conversation.pk)
    log = Committing(conversation)
    condenser = condense.Condenser(InstantModel(), sizes.COUNTER, log=log)
    situation = condense.Situation(
        effective=history,
        tokens=condense.TokenCount(sizes.sum_tokens(history)),
        budget=turn_context.budget_for(profile, Preferences()),
        trigger=condense.Trigger.MANUAL,
    )
    bare = _update(conversation, "condense_parent", since=0)
    with asyncio.Runner() as runner:
        here, least = beside(
            lambda: runner.run(condenser.fit(situation)), bare, times=3, after=log.undo
        )
    work = f"condense {LONGEST:,} messages, without the model"
    return Row(work, here, "ms", 9, UPDATE, least)
