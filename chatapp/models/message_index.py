"""The index of what messages say: it finds those that have the words somebody looks for.

Triggers keep it (see the migration that makes it), with a function that each connection is taught.
"""

import logging
import uuid
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.backends.utils import CursorWrapper
from django.dispatch import receiver

import condense
from chatapp.models.conversations import Conversation
from chatapp.models.errors import IndexDamaged
from chatapp.search.queries import Query, searchable_text

log = logging.getLogger(__name__)

# So many of the newest messages that have the words are compared by how much they are about them.
COMPARED = 1_000

_FIND = """
    SELECT id, conversation_id FROM (
        SELECT m.id, m.conversation_id, bm25(chatapp_message_index) AS badness
        FROM chatapp_message_index
        JOIN chatapp_message m ON m.id = chatapp_message_index.rowid
        JOIN chatapp_conversation c ON c.id = m.conversation_id
        WHERE chatapp_message_index MATCH %s AND c.owner_id = %s AND c.deleted_at IS NULL
        ORDER BY chatapp_message_index.rowid DESC LIMIT %s
    ) ORDER BY badness, id DESC LIMIT %s
"""
# CROSS JOIN has the index asked first and once, not for each message of the conversation.
_FIND_IN = """
    SELECT m.position, m.seq
    FROM chatapp_message_index
    CROSS JOIN chatapp_message m ON m.id = chatapp_message_index.rowid
    WHERE chatapp_message_index MATCH %s AND chatapp_message_index.rowid
        BETWEEN (SELECT min(id) FROM chatapp_message WHERE conversation_id = %s)
        AND (SELECT max(id) FROM chatapp_message WHERE conversation_id = %s)
    AND m.conversation_id = %s
    ORDER BY m.position, m.seq LIMIT %s
"""


# The last message that may be hidden: that a summary or a marker stands for, or one at a place that
# is given.
_LAST = """
    SELECT id, seq FROM chatapp_message WHERE conversation_id = %s AND seq <= coalesce(%s, (
        SELECT max(position) FROM (
            SELECT position FROM chatapp_message
            WHERE conversation_id = %s AND condense_id IS NOT NULL
            UNION ALL SELECT position FROM chatapp_message
            WHERE conversation_id = %s AND truncation_id IS NOT NULL
        )
    ), seq) ORDER BY seq DESC LIMIT 1
"""
_FIRST = "SELECT id, seq FROM chatapp_message WHERE conversation_id = %s ORDER BY seq LIMIT 1"
# One list of a look-up.
_LIST = """
    SELECT {place}, rowid FROM (
        SELECT i.rowid FROM chatapp_message_index i {among}
        WHERE chatapp_message_index MATCH %s AND i.rowid BETWEEN %s AND %s
        ORDER BY i.rowid DESC LIMIT %s
    )
"""
# Whether a word as it is written is in more messages than are wanted.
_PROBE = """
    SELECT {place} FROM (
        SELECT rowid FROM chatapp_message_index
        WHERE chatapp_message_index MATCH %s AND rowid BETWEEN %s AND %s
        ORDER BY rowid DESC LIMIT 1 OFFSET {most}
    )
"""
# The index of conversations says which of the messages are theirs, without a look at these.
_AMONG = """
    CROSS JOIN chatapp_message m INDEXED BY chatapp_message_conversation_id_751b6c97
    ON m.conversation_id = '{key}' AND m.id = i.rowid
"""
# Nobody sees the text of a marker, but where it has the summary of a part.
_IS_FOUND = """m.clear_id IS NULL
    AND (m.truncation_id IS NULL OR instr(m.content, '"## Conversation Summary\\n'))
"""
_FIND_UNKNOWN = f"""
    SELECT m.id FROM chatapp_message m
    LEFT JOIN chatapp_message_index_docsize d ON d.id = m.id
    WHERE d.id IS NULL AND {_IS_FOUND} LIMIT %s
"""  # noqa: S608 - a condition of our own
_CHECK = "INSERT INTO chatapp_message_index (chatapp_message_index) VALUES ('integrity-check')"
# FTS5 opens no index without this record, not even to empty it.
_LAY_OUT = """
    INSERT OR REPLACE INTO chatapp_message_index_data (id, block) VALUES (10, x'00000000000000')
"""
_EMPTY = "INSERT INTO chatapp_message_index (chatapp_message_index) VALUES ('delete-all')"
_FILL = f"""
    INSERT INTO chatapp_message_index (rowid, text)
    SELECT m.id, searchable_text(m.content) FROM chatapp_message m WHERE {_IS_FOUND}
"""  # noqa: S608 - likewise


@receiver(connection_created)
def teach(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Give a new connection the function that the triggers call."""
    if connection.vendor == "sqlite":
        connection.connection.create_function(
            "searchable_text", 1, searchable_text, deterministic=True
        )


def find_messages(owner: User, query: Query, *, limit: int) -> list[tuple[int, uuid.UUID]]:
    """Return messages of a user's present conversations, the best first: each with its chat.

    Raises IndexDamaged.
    """
    rows = _select(_FIND, query, owner.pk, COMPARED, limit)
    return [(message, uuid.UUID(conversation)) for message, conversation in rows]


def find_places(conversation: Conversation, query: Query, *, limit: int) -> list[tuple[int, int]]:
    """Return position and number of the messages that have the words, in reading order.

    Raises IndexDamaged.
    """
    rows = _select(_FIND_IN, query, *[conversation.pk.hex] * 3, limit)
    return [(position, seq) for position, seq in rows]


@dataclass(frozen=True, slots=True)
class Span:
    """The first and the last message that may be hidden; ``alone`` where all between are theirs."""

    conversation_id: uuid.UUID
    first: int
    last: int
    alone: bool


def span_of(conversation_id: uuid.UUID, until: int | None) -> Span | None:
    """Return where the hidden messages lie, or those up to a place; None where there are none.

    Raises IndexDamaged.
    """
    key = conversation_id.hex
    with _reading() as cursor:
        last = cursor.execute(_LAST, [key, until, key, key]).fetchone()
        first = cursor.execute(_FIRST, [key]).fetchone()
    if first is None or last is None:
        return None
    return Span(conversation_id, first[0], last[0], last[0] - first[0] == last[1] - first[1])


def find_usual(span: Span, terms: Sequence[condense.Term], most: int) -> frozenset[condense.Term]:
    """Return those that a span has so often as they are written that their endings are no matter.

    All that begins like a word is collected before the first of it is found. Raises IndexDamaged.
    """
    stems = [term for term in terms if term.word]
    probes = [_PROBE.format(place=place, most=most) for place in range(len(stems))]
    parameters: list[int | str] = []
    for term in stems:
        parameters += (f'"{term.word}"', span.first, span.last)
    if not stems:
        return frozenset()
    with _reading() as cursor:
        cursor.execute(" UNION ALL ".join(probes), parameters)
        return frozenset([stems[place] for (place,) in cursor.fetchall()])


def look_up(
    span: Span, wanted: Sequence[condense.Terms], usual: Container[condense.Term], most: int
) -> list[list[int]]:
    """Return for each group of terms the messages of a span that have all of them, newest first.

    It is one statement, and costs as much as it finds; of ``usual`` terms the word is looked for
    as it is written. Raises IndexDamaged.
    """
    found: list[list[int]] = [[] for _ in wanted]
    among = "" if span.alone else _AMONG.format(key=span.conversation_id.hex)
    lists = [_LIST.format(place=place, among=among) for place in range(len(wanted))]
    parameters: list[int | str] = []
    for terms in wanted:
        parameters += (_expression(terms, usual), span.first, span.last, most)
    with _reading() as cursor:
        cursor.execute(" UNION ALL ".join(lists), parameters)
        for place, number in cursor.fetchall():
            found[place].append(number)
    return found


def _expression(terms: condense.Terms, usual: Container[condense.Term]) -> str:
    """Return what finds messages with all of these terms, in the language of SQLite's FTS5."""
    said = []
    for term in terms:
        wanted = [(term.word, False)] if term in usual else term.forms
        forms = [f'"{condense.space_out(form).strip()}"{"*" * goes_on}' for form, goes_on in wanted]
        said.append(f"({' OR '.join(forms)})")
    return " AND ".join(said)


def find_unknown(*, limit: int) -> list[int]:
    """Return messages that should be in the index and are not."""
    with connection.cursor() as cursor:
        cursor.execute(_FIND_UNKNOWN, [limit])
        return [number for (number,) in cursor.fetchall()]


def is_sound() -> bool:
    """Whether the index fits itself; nothing can be written meanwhile.

    Raises OperationalError where it can't be read at all.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute(_CHECK)
    except OperationalError:
        raise
    except DatabaseError:
        return False
    return True


@transaction.atomic
def rebuild() -> None:
    """Make the index anew of the messages that are stored."""
    with connection.cursor() as cursor:
        for statement in (_LAY_OUT, _EMPTY, _FILL):
            cursor.execute(statement)


def _select(statement: str, query: Query, *parameters: int | str) -> list[tuple[Any, ...]]:
    if not query:
        return []
    with _reading() as cursor:
        cursor.execute(statement, [query.expression, *parameters])
        return list(cursor.fetchall())


@contextmanager
def _reading() -> Iterator[CursorWrapper]:
    """Lend a cursor for the index; raise IndexDamaged where that can't be read."""
    try:
        with connection.cursor() as cursor:
            yield cursor
    except DatabaseError as error:
        log.exception("the index of words can't be read")
        raise IndexDamaged from error
