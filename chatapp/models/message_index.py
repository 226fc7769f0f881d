"""The index of what messages say: it finds those that have the words somebody looks for.

Triggers keep it (see the migration that makes it), with a function that each connection is taught.
"""

import uuid
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from chatapp.models.conversations import Conversation
from chatapp.search.queries import Query
from chatapp.search.texts import searchable_text

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


@receiver(connection_created)
def teach(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Give a new connection the function that the triggers call."""
    if connection.vendor == "sqlite":
        connection.connection.create_function(
            "searchable_text", 1, searchable_text, deterministic=True
        )


def find_messages(owner: User, query: Query, *, limit: int) -> list[tuple[int, uuid.UUID]]:
    """Return messages of a user's present conversations, the best first: each with its chat."""
    rows = _select(_FIND, query, owner.pk, COMPARED, limit)
    return [(message, uuid.UUID(conversation)) for message, conversation in rows]


def find_places(conversation: Conversation, query: Query, *, limit: int) -> list[tuple[int, int]]:
    """Return position and number of the messages that have the words, in reading order."""
    rows = _select(_FIND_IN, query, *[conversation.pk.hex] * 3, limit)
    return [(position, seq) for position, seq in rows]


def _select(statement: str, query: Query, *parameters: int | str) -> list[tuple[Any, ...]]:
    if not query:
        return []
    with connection.cursor() as cursor:
        cursor.execute(statement, [query.expression, *parameters])
        return list(cursor.fetchall())
