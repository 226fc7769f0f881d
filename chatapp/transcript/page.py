"""One page of rows, in a number of queries that does not depend on its length."""

import re
import uuid

from django.db.models import Q

from chatapp.models import Conversation, Message
from chatapp.transcript.builder import Builder, Cursor
from chatapp.transcript.parts import LiveTools
from chatapp.transcript.rows import MessageRow, Page

PAGE = 50
_SHOWN_WITH = ("call", "condensation", "turn")
_CURSOR = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)


def revision(conversation_id: uuid.UUID) -> int:
    """Return the number of changes the conversation's transcript has seen."""
    rows = Conversation.objects.filter(pk=conversation_id)
    return rows.values_list("revision", flat=True).get()


def page(
    conversation: Conversation, *, before: str = "", at: int | None = None, limit: int = PAGE
) -> Page:
    """Return the rows before a cursor, or the newest; ``at`` reaches back to a position."""
    fresh = revision(conversation.pk)
    upper = parse_cursor(before)
    messages, older = _read(conversation, upper, at, limit)
    rows = Builder(conversation, messages).rows(upper, is_first=not older)
    return Page(rows, older, fresh)


def parse_cursor(text: str) -> Cursor | None:
    """Return a cursor from a URL; anything malformed is the newest page."""
    found = _CURSOR.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None


def _read(
    conversation: Conversation, upper: Cursor | None, at: int | None, limit: int
) -> tuple[list[Message], str]:
    """Return messages in reading order, and the cursor of the page before."""
    query = Message.objects.filter(conversation=conversation).select_related(*_SHOWN_WITH)
    if upper:
        query = query.filter(_is_before(upper))
    if at is not None:
        limit += query.filter(position__gte=at).count()
    newest_first = list(query.order_by("-position", "-seq")[: limit + 2])
    # A page never begins with results whose calls stand on the page before.
    while len(newest_first) > limit and _only_results(newest_first[limit - 1]):
        limit += 1
    messages = newest_first[:limit][::-1]
    more = len(newest_first) > limit
    return messages, f"{messages[0].position}.{messages[0].seq}" if more else ""


def _is_before(cursor: Cursor) -> Q:
    position, seq = cursor
    return Q(position__lt=position) | Q(position=position, seq__lt=seq)


def _only_results(message: Message) -> bool:
    content = message.content
    return isinstance(content, list) and any(
        block.get("type") == "tool_result" for block in content
    )


def live_row(
    conversation_id: uuid.UUID, seq: int, live: LiveTools
) -> tuple[MessageRow, Conversation]:
    """Return one message's row with what its running tools have answered so far."""
    query = Message.objects.filter(conversation=conversation_id, seq__gte=seq)
    messages = list(query.select_related(*_SHOWN_WITH).order_by("seq")[:2])
    conversation = Conversation.objects.get(pk=conversation_id)
    return Builder(conversation, messages).message_row(messages[0], live), conversation
