"""Pages of rows, and the texts that a row shows in part or not at all."""

import re
import uuid
from itertools import islice

import condense
from chatapp.models import Conversation, Message, message_store
from chatapp.models.messages import Cursor, MessageQuerySet
from chatapp.page.transcript.message_parts import input_text, result_text
from chatapp.page.transcript.row_builder import SHOWN_WITH, page_rows
from chatapp.page.transcript.rows import RowPage

# Messages after a call in which its result is looked for; it is the next one, mostly.
NEAR = 20


def message_text(conversation: Conversation, seq: int) -> str | None:
    """Return a message's own words in full; None if there is no such message."""
    found = conversation.messages.filter(seq=seq).first()
    return message_store.to_engine(found, whole=True).words if found else None


def message_block(conversation: Conversation, seq: int, index: int) -> condense.Block | None:
    """Return one block of a message; None if there is none."""
    found = conversation.messages.filter(seq=seq).first()
    blocks = message_store.to_engine(found, whole=True).blocks if found else ()
    return blocks[index] if index < len(blocks) else None


def call_text(conversation: Conversation, seq: int, call: str, part: str) -> str | None:
    """Return a tool call's "input" or "result"; None if it has none, or not yet."""
    rows = conversation.messages.filter(seq__gte=seq).order_by("seq")[:NEAR]
    said = [message_store.to_engine(row, whole=True) for row in rows]
    if part == "input":
        uses = said[0].tool_uses if said else ()
        return next((input_text(use) for use in uses if use.id == call), None)
    if part != "result":
        return None
    own = (pair for pair in condense.pair_calls(said).answered if pair.called_at == 0)
    return next((result_text(pair.result) for pair in own if pair.call.id == call), None)


ROWS_PER_PAGE = 50
_CURSOR = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?", re.ASCII)


def revision(conversation_id: uuid.UUID) -> int:
    """Return the number of changes the conversation's transcript has seen."""
    return Conversation.objects.values_list("revision", flat=True).get(pk=conversation_id)


def page(conversation: Conversation, *, before: str = "", limit: int = ROWS_PER_PAGE) -> RowPage:
    """Return the rows before a cut, or the newest."""
    upper = parse_cursor(before)
    messages, older = _read(_rows(conversation, upper=upper), limit, back=True)
    return _page(conversation, messages, older, _cut(upper))


def page_after(conversation: Conversation, cut: str, *, limit: int = ROWS_PER_PAGE) -> RowPage:
    """Return the rows from a cut on."""
    lower = parse_cursor(cut)
    messages, newer = _read(_rows(conversation, lower=lower), limit, back=False)
    return _page(conversation, messages, _cut(lower), newer)


def page_around(conversation: Conversation, place: str, *, limit: int = ROWS_PER_PAGE) -> RowPage:
    """Return the rows around a position or cut, twice as many from it on as before it."""
    middle = parse_cursor(place)
    if not middle:
        return page(conversation, limit=limit)
    before, older = _read(_rows(conversation, upper=middle), 1 + limit // 3, back=True)
    after, newer = _read(_rows(conversation, lower=middle), 1 + limit * 2 // 3, back=False)
    return _page(conversation, before + after, older, newer)


def page_between(conversation: Conversation, lower: str, upper: str) -> RowPage:
    """Return all rows between two cuts; "" is the beginning or the end."""
    span = parse_cursor(lower), parse_cursor(upper)
    messages, _end = _read(_rows(conversation, *span), None, back=False)
    return _page(conversation, messages, *map(_cut, span))


def parse_cursor(text: str) -> Cursor | None:
    """Return the cut or position in a URL; None if it is malformed."""
    found = _CURSOR.fullmatch(text)
    return (int(found[1]), int(found[2] or 0)) if found else None


def _cut(cursor: Cursor | None) -> str:
    return f"{cursor[0]}.{cursor[1]}" if cursor else ""


def _page(conversation: Conversation, messages: list[Message], older: str, newer: str) -> RowPage:
    rows = page_rows(conversation, messages, parse_cursor(newer), is_first=not older)
    return RowPage(rows, older, newer, conversation.revision)


def _rows(
    conversation: Conversation, lower: Cursor | None = None, upper: Cursor | None = None
) -> MessageQuerySet:
    rows = Message.objects.filter(conversation=conversation).select_related(*SHOWN_WITH)
    return rows.span(lower, upper)


def _read(
    rows: MessageQuerySet, limit: int | None, *, back: bool, near: int = NEAR
) -> tuple[list[Message], str]:
    """Return the first of some messages, or with ``back`` the last, and the cut at their end.

    The cut is "" if there are no others.
    """
    ordered = rows.in_reading_order()
    # A cursor of PostgreSQL would write all there are to its disk before the first comes.
    found = iter((ordered.reverse() if back else ordered)[: limit and limit + near])
    messages, cut = list(islice(found, limit)), ""
    for place, other in enumerate(found, 1):
        begins = messages[-1] if back else other
        # A page that began with results would lack their calls.
        if not begins.results:
            cut = _cut((begins.position, begins.seq))
            break
        if place == near:
            return _read(rows, limit, back=back, near=8 * near)
        messages.append(other)
    return messages[::-1] if back else messages, cut
