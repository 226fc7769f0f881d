"""What a conversation has said that the model does not see any more: searched, and read whole."""

import uuid

from chatapp.agent.errors import ToolError
from chatapp.models import Message, message_index
from chatapp.models.read_executor import reading
from chatapp.search.queries import visible_text
from chatapp.search.question_ranking import Question, excerpt
from chatapp.tools.ports import Found

# Messages that the index finds, of which those are ranked that are most about the question.
LOOKED_AT = 60


class StoredHistory:
    """The tools' ``History`` of one conversation; nothing of another can be found by it."""

    def __init__(self, conversation_id: uuid.UUID) -> None:
        """Take the conversation."""
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
    except message_index.IndexDamaged as damage:
        raise ToolError(str(damage)) from damage
    rows = {row.pk: row for row in Message.objects.filter(pk__in=numbers)}
    texts = [(visible_text(rows[pk].content), rows[pk]) for pk in numbers if pk in rows]
    best = question.rank([text for text, _row in texts])[:limit]
    return [
        Found(row.seq, _who(row), excerpt(text, question))
        for text, row in (texts[number] for number in best)
    ]


def read(conversation_id: uuid.UUID, seq: int) -> str | None:
    """Return what a message of a conversation says, None where there is none that counts."""
    own = Message.objects.filter(conversation=conversation_id, rewind_parent=None)
    row = own.filter(seq=seq).first()
    return visible_text(row.content) if row else None


def _who(row: Message) -> str:
    if row.holds_results:
        return "a tool's result"
    return "the user" if row.role == Message.Role.USER else "you"
