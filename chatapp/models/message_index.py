"""The index of words: finds messages that have the words of a search.

``index_languages`` has its SQL for both databases.
"""

import json
import logging
import sqlite3
import uuid
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import batched
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

import condense
from chatapp.models.conversations import Conversation
from chatapp.models.database import SqlStatement, execute, is_shared, piece, together
from chatapp.models.errors import IndexDamaged
from chatapp.models.index_languages import INDEX_LANGUAGES, PART, IndexLanguage, vector
from chatapp.project.search import Query

log = logging.getLogger(__name__)

# The number of newest matches that are ranked.
COMPARED = 1_000
# Letters of a beginning. A short one is in so many words that the other words of a search decide.
SHORTEST_PREFIX = 1
# Messages that are read at once where the index is made anew; each may hold images.
INDEXED_AT_ONCE = 50
# Pages of the index that are written in one transaction where it is merged.
MERGED = 500

_FIND = """
    SELECT id, chat FROM (
        SELECT i.rowid AS id, {chat} AS chat, {fit} FROM {own} AND {match}
        ORDER BY i.rowid DESC LIMIT %(compared)s
    ) AS newest ORDER BY {badness}, id DESC LIMIT %(limit)s
"""
# CROSS JOIN has SQLite ask the index first and once, not for each message of the conversation.
_FIND_IN = """
    SELECT m.position, m.seq
    FROM chatapp_message_index i {join} chatapp_message m ON m.id = i.rowid
    WHERE {match} AND i.rowid
        BETWEEN (SELECT min(id) FROM chatapp_message WHERE conversation_id = %(chat)s)
        AND (SELECT max(id) FROM chatapp_message WHERE conversation_id = %(chat)s)
    AND m.conversation_id = %(chat)s
    ORDER BY m.position, m.seq LIMIT %(limit)s
"""
# The newest message, but no summary, which stands at another place, and no rewound one.
_FIND_NEWEST = _FIND_IN.replace(
    "ORDER BY m.position, m.seq LIMIT %(limit)s",
    "AND m.position = m.seq AND m.rewind_parent IS NULL ORDER BY i.rowid DESC LIMIT 1",
)


# The last message that may be hidden: behind a summary or a marker, by a client's change, or at a
# given place.
_LAST = """
    SELECT id, seq FROM chatapp_message WHERE conversation_id = %s AND seq <= coalesce(%s, (
        SELECT max(position) FROM (
            SELECT position FROM chatapp_message
            WHERE conversation_id = %s AND condense_id IS NOT NULL
            UNION ALL SELECT position FROM chatapp_message
            WHERE conversation_id = %s AND truncation_id IS NOT NULL
            UNION ALL SELECT last_seq FROM chatapp_rewind
            WHERE conversation_id = %s AND cause = 'replaced'
        ) AS made
    ), seq) ORDER BY seq DESC LIMIT 1
"""
_FIRST = "SELECT id, seq FROM chatapp_message WHERE conversation_id = %s ORDER BY seq LIMIT 1"
# One list of a look-up.
_LIST = """
    SELECT {place}, rowid FROM (
        SELECT i.rowid FROM chatapp_message_index i {among}
        WHERE {match} AND i.rowid BETWEEN %s AND %s
        ORDER BY i.rowid DESC LIMIT %s
    ) AS found
"""
# True if a word as it is written is in more messages than are wanted.
_PROBE = """
    SELECT {place} FROM (
        SELECT rowid FROM chatapp_message_index i WHERE {match} AND rowid BETWEEN %s AND %s
        ORDER BY rowid DESC LIMIT 1 OFFSET {most}
    ) AS found
"""
_FIND_UNKNOWN = """
    SELECT m.id FROM chatapp_message m LEFT JOIN {entries}
    WHERE {missing} AND m.clear_id IS NULL AND (m.truncation_id IS NULL OR {is_part}) LIMIT %s
"""


def searchable_text(content: str) -> str:
    """Return the text that a message's stored content adds to the index of words."""
    try:
        text = visible_text(json.loads(content))
    except (ValueError, RecursionError):
        # A damaged content must be stored all the same; it is only not found.
        return ""
    # Half a surrogate can't be written as UTF-8.
    return condense.space_out(text).encode(errors="replace").decode()


def visible_text(content: Any) -> str:
    """Return a content's visible text: texts, thoughts, arguments of calls, and results."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join([text for block in blocks for text in _texts(block)])


def _texts(block: Any) -> Iterator[str]:
    match block:
        case {"beside": {"kind": "environment" | "recalled" | "forgotten"}}:
            return
        case {"type": "text", "text": str(text)} | {"type": "thinking", "thinking": str(text)}:
            yield text
        case {"type": "image", "beside": {"name": str(name)}}:
            yield f"[{name}]"
        case {"type": "tool_use", "input": arguments}:
            yield from condense.texts_in(arguments)
        case {"type": "tool_result", "content": str(text)}:
            yield text
        case {"type": "tool_result", "content": [*parts]}:
            for part in parts:
                match part:
                    case {"type": "text", "text": str(text)}:
                        yield text


def _language() -> IndexLanguage:
    return INDEX_LANGUAGES[connection.vendor]


@receiver(connection_created)
def teach(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Give a new connection the function that the triggers call."""
    if connection.vendor == "sqlite":
        connection.connection.create_function(
            "searchable_text", 1, searchable_text, deterministic=True
        )


def find_messages(owner: User, query: Query, *, limit: int) -> list[tuple[int, uuid.UUID]]:
    """Return messages of a user's present chats, with the chats, best first; raise IndexDamaged."""
    rows = _select(_FIND, query, owner=owner.pk, compared=COMPARED, limit=limit)
    return [(message, uuid.UUID(str(conversation))) for message, conversation in rows]


def find_places(conversation: Conversation, query: Query, *, limit: int) -> list[tuple[int, int]]:
    """Return position and number of matching messages in reading order; raise IndexDamaged."""
    rows = _select(_FIND_IN, query, chat=conversation.pk.hex, limit=limit)
    return [(position, seq) for position, seq in rows]


def find_newest(conversation_id: uuid.UUID, query: Query) -> int:
    """Return the number of the newest message with the words, 0 if none has them.

    Raises IndexDamaged.
    """
    rows = _select(_FIND_NEWEST, query, chat=conversation_id.hex)
    return max([seq for _position, seq in rows], default=0)


@dataclass(frozen=True, slots=True)
class HiddenSpan:
    """The first and last message that may be hidden; ``alone`` if no other chat's are between."""

    conversation_id: uuid.UUID
    first: int
    last: int
    alone: bool


def span_of(conversation_id: uuid.UUID, until: int | None) -> HiddenSpan | None:
    """Return the span of the hidden messages, or of all until a place; None without any.

    Raises IndexDamaged.
    """
    key = conversation_id.hex
    first, last = _read(_FIRST, [key]), _read(_LAST, [key, until, key, key, key])
    if not (first and last):
        return None
    ((begin, begin_seq),), ((end, end_seq),) = first, last
    return HiddenSpan(conversation_id, begin, end, end - begin == end_seq - begin_seq)


def find_usual(
    span: HiddenSpan, terms: Sequence[condense.Term], most: int
) -> frozenset[condense.Term]:
    """Return those that a span has so often as they are written that their endings are no matter.

    All that begins like a word is collected before the first of it is found. Raises IndexDamaged.
    """
    language, stems = _language(), [term for term in terms if term.word]
    match = language.matches("%s")
    probes = [_PROBE.format(place=at, match=match, most=most) for at in range(len(stems))]
    parameters: list[int | str] = []
    for term in stems:
        parameters += (language.said(term.word, False), span.first, span.last)
    if not stems:
        return frozenset()
    found = _read(" UNION ALL ".join(probes), parameters)
    return frozenset([stems[place] for (place,) in found])


def look_up(
    span: HiddenSpan, wanted: Sequence[condense.Terms], usual: Container[condense.Term], most: int
) -> list[list[int]]:
    """Return for each group of terms the messages of a span that have all of them, newest first.

    It is one statement, and costs as much as it finds; of ``usual`` terms the word is looked for
    as it is written. Raises IndexDamaged.
    """
    found: list[list[int]] = [[] for _ in wanted]
    language, match = _language(), _language().matches("%s")
    among = "" if span.alone else language.among.format(key=span.conversation_id.hex)
    lists = [_LIST.format(place=at, among=among, match=match) for at in range(len(wanted))]
    parameters: list[int | str] = []
    for terms in wanted:
        forms = [[(term.word, False)] if term in usual else term.forms for term in terms]
        parameters += (language.expression(forms), span.first, span.last, most)
    for place, number in _read(" UNION ALL ".join(lists), parameters):
        found[place].append(number)
    return found


def find_unknown(*, limit: int) -> list[int]:
    """Return messages that should be in the index and are not, in their order."""
    found = execute(_FIND_UNKNOWN.format(**_language().unknown), limit)
    return sorted(number for (number,) in found)


def is_sound() -> bool:
    """Return True if the index is consistent; nothing can be written meanwhile.

    Raises DatabaseError if it can't be read at all: made anew, it would be where it can't be read.
    """
    try:
        for statement in _language().check:
            execute(statement)
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlite_errorcode", 0) != sqlite3.SQLITE_CORRUPT_VTAB:
            raise
        return False
    return True


def add(rows: Iterable[Any]) -> None:
    """Index messages that were just stored or changed, in a database without triggers."""
    together(*additions(rows))


def additions(rows: Iterable[Any]) -> list[SqlStatement]:
    """Return the statements of ``add`` for rows whose keys are known."""
    language = _language()
    if not language.insert:
        return []
    words = {
        one.pk: vector(visible_text(one.content))
        for one in rows
        if one.clear_id is None
        if one.truncation_id is None or PART in json.dumps(one.content)
    }
    return [SqlStatement(language.insert, ([*words], [*words.values()]))] if words else []


def copy_entries(origin: uuid.UUID, copy: uuid.UUID) -> None:
    """Index the messages of a copy as those of its original, in a database without triggers."""
    if statement := _language().copy:
        execute(statement, origin, copy)


@transaction.atomic
def rebuild() -> None:
    """Make the index anew of the messages that are stored."""
    for statement in _language().rebuild:
        execute(statement)
    if _language().insert:
        messages = apps.get_model("chatapp", "Message").objects.iterator(chunk_size=INDEXED_AT_ONCE)
        for rows in batched(messages, INDEXED_AT_ONCE):
            add(rows)


def forget_deleted() -> Iterator[None]:
    """Remove deleted messages from the files of the index, and yield after each piece."""
    # FTS5 only marks them, until parts of the index are merged; PostgreSQL removes them by itself.
    merge = "INSERT INTO chatapp_message_index (chatapp_message_index, rank) VALUES ('merge', %s)"
    pages = -MERGED
    while not is_shared():
        before = connection.connection.total_changes
        with piece():
            execute(merge, pages)
        # One changed row means that it was asked, and all others are merged rows.
        if connection.connection.total_changes <= before + 1:
            return
        pages = MERGED
        yield


def fill() -> None:
    """Index messages that were copied without the models, in a database without triggers."""
    if _language().insert:
        rebuild()


def _select(statement: str, query: Query, **values: Any) -> list[tuple[Any, ...]]:
    if not query:
        return []
    language = _language()
    phrases = [" ".join(phrase) for phrase in query.phrases]
    whole = [[(one, False)] for one in phrases[:-1]]
    values["asked"] = language.expression([*whole, [(phrases[-1], True)]])
    match = language.matches("%(asked)s")
    if whole and len(phrases[-1]) <= SHORTEST_PREFIX and language.afterwards:
        values["whole"] = language.expression(whole)
        match = f"{language.matches('%(whole)s')} AND {language.afterwards}"
    parts = {name: getattr(language, name) for name in ("chat", "own", "fit", "badness", "join")}
    return _read(statement.format(match=match, **parts), values)


def _read(statement: str, values: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement; raise IndexDamaged if the index can't be read."""
    # A failure inside a transaction of PostgreSQL would undo all of it.
    within = is_shared() and connection.in_atomic_block
    try:
        with transaction.atomic() if within else nullcontext(), connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())
    except DatabaseError as error:
        log.exception("the index of words can't be read")
        raise IndexDamaged from error
