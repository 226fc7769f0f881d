"""Messages and attempts to show on a page, and the rows that it has."""

from collections.abc import Iterable, Iterator

import condense
from chatapp.models import Condensation, Conversation, Message, message_store
from chatapp.page.transcript.rows import RewindRow, Row, RowPage
from tests.chatapp.conftest import Say
from tests.records import record_for


def append(conversation: Conversation, role: condense.Role, *blocks: condense.Block) -> Message:
    """Store a message made of blocks."""
    message = condense.Message(role=role, content=blocks)
    return message_store.append_message(conversation.pk, message, tokens=1)


def talk(say: Say, count: int) -> None:
    """Say ``count`` messages, the roles in turn."""
    for number in range(1, count + 1):
        say("user" if number % 2 else "assistant", f"message {number}")


def fail(conversation: Conversation) -> None:
    """Record an attempt that fails now."""
    last = Message.objects.filter(conversation=conversation).order_by("seq").last()
    unrecorded = Message.objects.filter(conversation=conversation, condensation=None)
    row = record_for(conversation, unrecorded[0])
    row.status, row.message, row.at_seq = Condensation.Status.FAILED, None, last.seq
    row.save()


def flat(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows, those of a rewind in its place."""
    for row in rows:
        if isinstance(row, RewindRow):
            yield from flat(row.rows)
        else:
            yield row


def ids(*pages: RowPage) -> list[str]:
    """Return the ids of all rows of some pages."""
    return [row.id for page in pages for row in flat(page.rows)]
