"""The index of words in the languages of the databases: SQLite's FTS5, and PostgreSQL's tsvector.

An entry of FTS5 is made by triggers, with a function that each connection is taught. A tsvector is
made of the words that Python finds when a message is stored; a trigger deletes the entry of a
message that is deleted or changed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import condense
from chatapp.project.search import words_of

# Words of a phrase, and True if the last one may be a beginning.
Form = tuple[str, bool]

# Nobody sees a marker's text, unless it has the summary of a part.
PART = '"## Conversation Summary\\n'

# Limits of a tsvector. Places after the last one are counted from the first again, so that
# neighbours stay neighbours.
LONGEST_WORD, MOST_BYTES = 500, 1_000_000  # characters of a word, bytes of all
PLACES, LAST_PLACE = 255, 16_383  # places of one word


@dataclass(frozen=True, slots=True)
class IndexLanguage:
    """The SQL of the index for one database; its tables and columns have the same names in both."""

    # A condition on the words of an entry ``i``, and a join of entries with messages.
    match: str
    join: str
    # The conversation of an entry, and the present conversations of a user.
    chat: str
    own: str
    # A condition on entries found by other words; "" where any beginning is found at once.
    afterwards: str
    # The column from which the rank of an entry is computed, and the rank: lower is better.
    fit: str
    badness: str
    # A condition that leaves only entries of one conversation.
    among: str
    # The join of entries with messages, and conditions: one is missing, a marker has words.
    unknown: Mapping[str, str]
    check: Sequence[str]
    rebuild: Sequence[str]
    # The statement that stores keys and words of messages, if no trigger does, and the one that
    # indexes messages of the second conversation as those of the first.
    insert: str
    copy: str
    # The expression for a phrase, and those that join several.
    said: Callable[[str, bool], str]
    both: str
    either: str

    def matches(self, asked: str) -> str:
        """Return the condition with the place of a parameter in it."""
        return self.match.replace("?", asked)

    def expression(self, wanted: Iterable[Iterable[Form]]) -> str:
        """Return the query for messages that have one form of each term."""
        forms = [[self.said(words, goes_on) for words, goes_on in one] for one in wanted]
        return self.both.join([f"({self.either.join(one)})" for one in forms])


def _tsquery(words: str, goes_on: bool) -> str:
    lexemes = [f"'{word[:LONGEST_WORD]}'" for word in words_of(words)] or ["' '"]
    return " <-> ".join(lexemes) + ":*" * goes_on


def vector(text: str) -> str:
    """Return the words of a text with their places, as PostgreSQL reads a tsvector."""
    places: dict[str, list[int]] = {}
    size = 0
    for number, word in enumerate(words_of(text)):
        at = places.setdefault(word[:LONGEST_WORD], [])
        size += 2 if at else 6 + len(word[:LONGEST_WORD].encode())
        if size > MOST_BYTES:
            break
        if len(at) < PLACES:
            at.append(number % LAST_PLACE + 1)
    return " ".join([f"'{word}':{','.join(map(str, at))}" for word, at in places.items() if at])


_SQLITE = IndexLanguage(
    match="chatapp_message_index MATCH ?",
    join="CROSS JOIN",
    chat="c.id",
    own="""
        chatapp_message_index i JOIN chatapp_message m ON m.id = i.rowid
        JOIN chatapp_conversation c ON c.id = m.conversation_id
        WHERE c.owner_id = %(owner)s AND c.deleted_at IS NULL
    """,
    afterwards="",
    fit="bm25(chatapp_message_index) AS badness",
    badness="badness",
    # The index of conversations says which of the messages are theirs, without a look at these.
    among="""
        CROSS JOIN chatapp_message m INDEXED BY chatapp_message_conversation_id_751b6c97
        ON m.conversation_id = '{key}' AND m.id = i.rowid
    """,
    unknown={
        "entries": "chatapp_message_index_docsize d ON d.id = m.id",
        "missing": "d.id IS NULL",
        "is_part": f"instr(m.content, '{PART}')",
    },
    check=["INSERT INTO chatapp_message_index (chatapp_message_index) VALUES ('integrity-check')"],
    rebuild=[
        # FTS5 opens no index without this record, not even to empty it.
        """
        INSERT OR REPLACE INTO chatapp_message_index_data (id, block)
        VALUES (10, x'00000000000000')
        """,
        "INSERT INTO chatapp_message_index (chatapp_message_index) VALUES ('delete-all')",
        f"""
        INSERT INTO chatapp_message_index (rowid, text)
        SELECT m.id, searchable_text(m.content) FROM chatapp_message m
        WHERE m.clear_id IS NULL AND (m.truncation_id IS NULL OR instr(m.content, '{PART}'))
        """,  # noqa: S608 - a condition of our own
    ],
    insert="",
    copy="",
    said=lambda words, goes_on: f'"{condense.space_out(words).strip()}"{"*" * goes_on}',
    both=" AND ",
    either=" OR ",
)
_POSTGRESQL = IndexLanguage(
    match="i.text @@ CAST(? AS tsquery)",
    join="JOIN",
    # An entry knows its conversation: a million of others are left out without a look at them.
    chat="i.conversation_id",
    own="""
        chatapp_message_index i WHERE i.owner_id = %(owner)s AND NOT EXISTS (
            SELECT 1 FROM chatapp_conversation c
            WHERE c.id = i.conversation_id AND c.deleted_at IS NOT NULL
        )
    """,
    # The operator would ask the index, which collects all words that begin so.
    afterwards="ts_match_vq(i.text, CAST(%(asked)s AS tsquery))",
    fit="i.text",
    # Ranked by its words; a long entry counts a little less.
    badness="-ts_rank(text, CAST(%(asked)s AS tsquery), 1)",
    among="JOIN chatapp_message m ON m.conversation_id = '{key}' AND m.id = i.rowid",
    unknown={
        "entries": "chatapp_message_index d ON d.rowid = m.id",
        "missing": "d.rowid IS NULL",
        "is_part": f"strpos(CAST(m.content AS text), '{PART}') > 0",
    },
    check=[],
    rebuild=["DELETE FROM chatapp_message_index"],
    insert="""
        INSERT INTO chatapp_message_index (rowid, owner_id, conversation_id, text)
        SELECT m.id, c.owner_id, c.id, CAST(words AS tsvector)
        FROM unnest(CAST(%s AS bigint[]), CAST(%s AS text[])) AS new (id, words)
        JOIN chatapp_message m USING (id) JOIN chatapp_conversation c ON c.id = m.conversation_id
        ON CONFLICT (rowid) DO UPDATE SET text = excluded.text
    """,
    copy="""
        INSERT INTO chatapp_message_index (rowid, owner_id, conversation_id, text)
        SELECT m.id, i.owner_id, m.conversation_id, i.text FROM chatapp_message o
        JOIN chatapp_message_index i ON i.rowid = o.id
        JOIN chatapp_message m ON m.seq = o.seq
        WHERE o.conversation_id = %s AND m.conversation_id = %s ON CONFLICT (rowid) DO NOTHING
    """,
    said=_tsquery,
    both=" & ",
    either=" | ",
)
INDEX_LANGUAGES = {"sqlite": _SQLITE, "postgresql": _POSTGRESQL}
