"""The hidden part of a conversation: tools search it, and recall adds passages of it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property, partial
from itertools import batched, islice

from django.db.models import Max, Min, QuerySet
from django.utils import timezone

import condense
from chatapp.agent.annotated_blocks import recalled_in
from chatapp.agent.errors import ToolError
from chatapp.conversations.embedding.vectors import embed_question, find_nearest
from chatapp.models import Conversation, Message, message_index, message_store
from chatapp.models.database import execute, reading
from chatapp.models.errors import IndexDamaged
from chatapp.project.search import Query
from chatapp.project.sentences import zone_named
from chatapp.tools.search_history import ALWAYS, Days, FoundMessage

MOST_READ, MOST_BESIDE = 40_000, 4_000  # tokens read for one search, and of a neighbour
BEGINNING = 200  # characters of a message that is listed
# Messages among which those with words are listed, and that are read at once.
MOST_LISTED, READ_AT_ONCE = 1_000, 10


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """The tools' ``History`` of one conversation; nothing of another can be found by it."""

    conversation_id: uuid.UUID
    # The name of the time zone in which days are meant.
    zone: str = ""

    async def search(self, words: str, limit: int, days: Days = ALWAYS) -> list[FoundMessage]:
        """Return messages about these words, the best first; without words the first messages."""
        await embed_question(self.conversation_id, words)
        return await reading(search)(self.conversation_id, words, limit, days, self.zone)

    async def read(self, seq: int) -> str | None:
        """Return the text of a message; None if there is none, or a rewind took it back."""
        return await reading(read)(self.conversation_id, seq)


class StoredRecall:
    """The engine's ``Recall`` of one conversation, and the index that the ranking asks.

    It searches hidden messages, with ``until`` also all messages up to that position, and with
    ``days`` only messages of these days. A search takes at most seven statements, one more for each
    file and for days, and some 5 ms of CPU however much is stored. ``condense.recalled_block``
    takes the passages that fit well.
    """

    def __init__(
        self, conversation_id: uuid.UUID, until: int | None = None, days: Days = ALWAYS
    ) -> None:
        self.conversation_id, self.until, self.days = conversation_id, until, days
        self._said_at: dict[str, datetime] = {}
        self._usual: frozenset[condense.Term] = frozenset()

    def __call__(self, words: str, limit: int) -> list[condense.Passage]:
        """Return the passages that fit some words best, the best first; raise IndexDamaged."""
        found = condense.find_passages(self, words, limit) if self._span else []
        return [replace(one, said_on=self._day(one.id)) for one in found]

    def beginnings(self, limit: int) -> list[condense.Passage]:
        """Return the beginnings of the first messages of people and the model."""
        hidden = self._between(*self.span).filter(holds_results=False).order_by("seq")
        keys = hidden.values_list("pk", flat=True)[:MOST_LISTED]
        told = (
            (one.id, one.seq, part)
            for some in batched(keys, READ_AT_ONCE)
            for one in self.read(some)
            for part in (one.parts if one.number in some else ())
            if part.is_prose
        )
        return [
            condense.Passage(id_, seq, part.text[:BEGINNING], 1, self._day(id_), 0, part.speaker)
            for id_, seq, part in islice(told, limit)
        ]

    def _day(self, id_: str) -> date:
        return timezone.localdate(self._said_at[id_])

    @cached_property
    def _span(self) -> message_index.HiddenSpan | None:
        span = message_index.span_of(self.conversation_id, self.until)
        if span is None or self.days == ALWAYS:
            return span
        there = self._between(span.first, span.last).filter(created_at__date__range=self.days)
        ends = there.aggregate(first=Min("pk"), last=Max("pk"))
        return replace(span, **ends) if ends["first"] else None

    def _between(self, first: int, last: int) -> QuerySet[Message]:
        return Message.objects.filter(conversation=self.conversation_id, pk__range=(first, last))

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
        first, last = self.span
        found = find_nearest(self.conversation_id, question, self.until or 0, most)
        return [one for one in found if first <= one.number <= last]

    def last_named(self, file: str) -> int:
        """Return the number of the newest message that names a file, hidden or not."""
        return message_index.find_newest(self.conversation_id, Query.read(f'"{file}"'))

    def read(self, numbers: Sequence[int]) -> list[condense.SearchedMessage]:
        """Return these messages and those next to them, as far as they may be shown and read."""
        keys = ", ".join(map(str, numbers)) or "NULL"
        sized = execute(f"SELECT id, seq, tokens FROM chatapp_message WHERE id IN ({keys})")  # noqa: S608 - numbers
        sizes = {pk: one for pk, *one in sized}
        wanted, free = set[int](), MOST_READ
        for number in numbers:
            seq, tokens = sizes.get(number, (0, free + 1))
            if tokens <= free:
                free -= tokens
                wanted.add(seq)
        near = {seq + step for seq in wanted for step in (-1, 0, 1)}
        asked = self.conversation_id, near, self.until or 0, MOST_READ, condense.CORRECTION
        rows = message_store.searched_rows(*asked) if near else []
        said, (first, last) = list[condense.SearchedMessage](), self.span
        # A message that is too long to be read may still hold the call that another one answers.
        read = partial(message_store.to_engine, tags=condense.Tags())
        for row, (one, parts) in zip(rows, condense.parts_of(map(read, rows)), strict=True):
            if first <= row.pk <= last and (row.seq in wanted or row.tokens <= MOST_BESIDE):
                self._said_at[one.id] = row.created_at
                said.append(condense.SearchedMessage(one.id, one.seq, parts, row.pk))
        return said


def shown_passages(conversation: Conversation) -> list[str]:
    """Return the blocks of recalled passages that the model still sees."""
    rows = conversation.messages.filter(hidden=False, content__icontains=condense.RECALLED)
    return [
        block.text for row in rows for block in recalled_in(message_store.to_engine(row).blocks)
    ]


def with_subject(conversation: Conversation, text: str, end: int | None = None) -> str:
    """Return a new question that says little with the user's message before it, or before a seq."""

    def before() -> str:
        said = conversation.messages.in_force().questions().said()
        row = (said.filter(seq__lt=end) if end else said).newest()
        return message_store.to_engine(row).words if row else ""

    return condense.with_subject(text, before)


def search(
    conversation_id: uuid.UUID, words: str, limit: int, days: Days = ALWAYS, zone: str = ""
) -> list[FoundMessage]:
    """Return hidden messages about these words, or the first of these days, in a time zone.

    Raises ToolError if the index can't be read.
    """
    recall = StoredRecall(conversation_id, days=days)
    try:
        with timezone.override(zone_named(zone)):
            passages = recall(words, limit) if words else recall.beginnings(limit)
    except IndexDamaged as damage:
        raise ToolError(str(damage)) from damage
    return [FoundMessage(one.seq, one.speaker, one.text, one.said_on) for one in passages]


def read(conversation_id: uuid.UUID, seq: int) -> str | None:
    """Return the text of a conversation's message, None if there is none, or it was rewound."""
    own = Message.objects.filter(conversation=conversation_id, rewind_parent=None)
    row = own.filter(seq=seq).first()
    told = condense.parts_of([message_store.to_engine(row)] if row else ())
    return next(("\n".join([part.text for part in parts]) for _, parts in told), None)
