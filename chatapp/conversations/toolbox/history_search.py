"""The hidden part of a conversation: tools search it, and recall adds passages of it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial

from django.utils import timezone

import condense
from chatapp.agent.errors import ToolError
from chatapp.conversations.embedding.vectors import embed_question, find_nearest
from chatapp.models import Message, message_index, message_store
from chatapp.models.database import execute, reading
from chatapp.models.errors import IndexDamaged
from chatapp.project.search import Query
from chatapp.tools.search_history import Found

# Tokens of the messages that are read for one search, and of one next to them.
MOST_READ, MOST_BESIDE = 40_000, 4_000


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """The tools' ``History`` of one conversation; nothing of another can be found by it."""

    conversation_id: uuid.UUID

    async def search(self, words: str, limit: int) -> list[Found]:
        """Return the messages that are most about these words, the best first."""
        await embed_question(self.conversation_id, words)
        return await reading(search)(self.conversation_id, words, limit)

    async def read(self, seq: int) -> str | None:
        """Return the text of a message; None if there is none, or a rewind took it back."""
        return await reading(read)(self.conversation_id, seq)


class StoredRecall:
    """The engine's ``Recall`` of one conversation, and the index that the ranking asks.

    It searches hidden messages, and with ``until`` all messages up to that position. A search takes
    at most seven statements, one more for each file, and some 5 ms of CPU however much is stored.
    Of its passages ``condense.recalled_block`` takes those that fit well.
    """

    def __init__(self, conversation_id: uuid.UUID, until: int | None = None) -> None:
        self.conversation_id, self.until = conversation_id, until
        self._said_at: dict[str, datetime] = {}
        self._usual: frozenset[condense.Term] = frozenset()

    def __call__(self, words: str, limit: int) -> list[condense.Passage]:
        """Return the passages that fit some words best, the best first; raise IndexDamaged."""
        found = condense.find_passages(self, words, limit) if self._span else []
        return [replace(one, said_on=timezone.localdate(self._said_at[one.id])) for one in found]

    @cached_property
    def _span(self) -> message_index.Span | None:
        return message_index.span_of(self.conversation_id, self.until)

    @property
    def span(self) -> tuple[int, int]:
        """The numbers of the first and the last message."""
        return (self._span.first, self._span.last) if self._span else (0, 0)

    def look_up(self, wanted: Sequence[condense.Terms], most: int) -> list[list[int]]:
        """Return for each group of terms the messages that have all, newest first."""
        if self._span is None:
            return []
        if all(len(group) == 1 for group in wanted):
            terms = [term for group in wanted for term in group]
            self._usual = message_index.find_usual(self._span, terms, most)
        return message_index.look_up(self._span, wanted, self._usual, most)

    def nearest(self, question: str, most: int) -> Sequence[condense.Near]:
        """Return the embedded passages nearest to a question; () if it was not embedded."""
        return find_nearest(self.conversation_id, question, self.until or 0, most)

    def last_named(self, file: str) -> int:
        """Return the number of the newest message that names a file, hidden or not."""
        return message_index.find_newest(self.conversation_id, Query.read(f'"{file}"'))

    def read(self, numbers: Sequence[int]) -> list[condense.SearchedMessage]:
        """Return these messages and those next to them, as far as they may be shown and read."""
        keys = ", ".join(map(str, numbers))
        sized = execute(f"SELECT id, seq, tokens FROM chatapp_message WHERE id IN ({keys})")  # noqa: S608 - numbers
        sizes = {pk: one for pk, *one in sized}
        wanted, free = set[int](), MOST_READ
        for number in numbers:
            seq, tokens = sizes.get(number, (0, free + 1))
            if tokens <= free:
                free -= tokens
                wanted.add(seq)
        near = {seq + step for seq in wanted for step in (-1, 0, 1)}
        asked = self.conversation_id, near, self.until or 0, MOST_READ
        rows = message_store.searched_rows(*asked) if near else []
        said = []
        # What is too long to be read may still be the call that another one answers.
        read = partial(message_store.to_engine, tags=condense.Tags())
        for row, (one, parts) in zip(rows, condense.parts_of(map(read, rows)), strict=True):
            if row.seq in wanted or row.tokens <= MOST_BESIDE:
                self._said_at[one.id] = row.created_at
                said.append(condense.SearchedMessage(one.id, one.seq, parts, row.pk))
        return said


def search(conversation_id: uuid.UUID, words: str, limit: int) -> list[Found]:
    """Return the hidden messages of a conversation that are most about these words.

    Raises ToolError if the index can't be read.
    """
    try:
        passages = StoredRecall(conversation_id)(words, limit)
    except IndexDamaged as damage:
        raise ToolError(str(damage)) from damage
    return [Found(one.seq, one.speaker, one.text) for one in passages]


def read(conversation_id: uuid.UUID, seq: int) -> str | None:
    """Return the text of a conversation's message, None if there is none, or it was rewound."""
    own = Message.objects.filter(conversation=conversation_id, rewind_parent=None)
    row = own.filter(seq=seq).first()
    told = condense.parts_of([message_store.to_engine(row)] if row else ())
    return next(("\n".join([part.text for part in parts]) for _, parts in told), None)
