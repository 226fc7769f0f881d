"""The hidden part of a conversation, which tools search, and messages, which they read whole."""

import uuid

from django.utils import timezone

import condense
from chatapp.agent.errors import ToolError
from chatapp.models import Message, message_index
from chatapp.models.database import reading
from chatapp.models.errors import IndexDamaged
from chatapp.search.queries import visible_text
from chatapp.search.question_ranking import Question, excerpt
from chatapp.tools.search_history import Found

# Messages that the index finds, of which those are ranked that are most about the question.
LOOKED_AT = 60


class StoredHistory:
    """The tools' ``History`` of one conversation; nothing of another can be found by it."""

    def __init__(self, conversation_id: uuid.UUID) -> None:
        self.conversation_id = conversation_id

    async def search(self, words: str, limit: int) -> list[Found]:
        """Return the messages that are most about these words, the best first."""
        return await reading(search)(self.conversation_id, words, limit)

    async def read(self, seq: int) -> str | None:
        """Return all that a message says; None where there is none, or a rewind took it back."""
        return await reading(read)(self.conversation_id, seq)


def search(conversation_id: uuid.UUID, words: str, limit: int) -> list[Found]:
    """Return the hidden messages of a conversation that are most about these words.

    Raises ToolError where the index can't be read.
    """
    question = Question.read(words)
    try:
        numbers = message_index.find_hidden(conversation_id, question, limit=LOOKED_AT)
    except IndexDamaged as damage:
        raise ToolError(str(damage)) from damage
    rows = {row.pk: row for row in Message.objects.filter(pk__in=numbers)}
    found = [rows[pk] for pk in numbers if pk in rows]
    texts = [visible_text(row.content) for row in found]
    best = question.rank(texts)[:limit]
    told = []
    for at in best:
        row = found[at]
        who = "the user" if row.role == Message.Role.USER else "you"
        who = "a tool's result" if row.holds_results else who
        told.append(Found(row.seq, who, excerpt(texts[at], question)))
    return told


def recall(conversation_id: uuid.UUID, words: str, limit: int) -> list[condense.Passage]:
    """Return the passages of hidden messages that fit some words best; none where none fits well.

    At most ``limit``, the best first. It costs one statement for each rare word of the message and
    three more, and at most 5 ms of CPU. Raises IndexDamaged.
    """
    question = Question.read(words)
    numbers = message_index.find_hidden(conversation_id, question, limit=LOOKED_AT)
    rows = {row.pk: row for row in Message.objects.filter(pk__in=numbers)}
    found = [rows[pk] for pk in numbers if pk in rows]
    texts = [visible_text(row.content) for row in found]
    return [
        condense.Passage(
            str(found[at].pk), found[at].seq, excerpt(texts[at], question), 0.5,
            timezone.localdate(found[at].created_at),
        )
        for at in question.rank(texts)[:limit]
    ]  # fmt: skip


def read(conversation_id: uuid.UUID, seq: int) -> str | None:
    """Return what a message of a conversation says, None where there is none that counts."""
    own = Message.objects.filter(conversation=conversation_id, rewind_parent=None)
    row = own.filter(seq=seq).first()
    return visible_text(row.content) if row else None
