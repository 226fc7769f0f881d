"""Many people's conversations in PostgreSQL, made by few statements."""

import json
import random
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, models

from chatapp.models import Conversation, Message, Profile, message_index
from chatapp.models.database import execute
from chatapp.models.index_languages import vector
from chatapp.models.message_index import visible_text
from tests.bench.conversations import make_conversation, make_owner, prepare_owner

CHATS = Path(__file__).parents[1] / "evaluation" / "chats"
# Different texts: prose of the evaluation's chats, and code as tools return it. Each stands in many
# messages, with a word that stands in no other.
TEMPLATES, CODE = 10_000, 1_500
# Messages that repeat: a question, a call, its result, an answer.
SHAPES = 4
# Messages that an old conversation shows, and as many that it hides.
SEEN = 100
NAMES = [f"user {number}" for number in range(50)]
# Conversations that go on at the same time: their messages take turns.
AT_ONCE = 100

# Whose each conversation is.
_CROWD = """
    CREATE TEMP TABLE crowd AS
    SELECT number, gen_random_uuid() AS id, (CAST(%s AS int[]))[1 + mod(number, %s)] AS owner
    FROM generate_series(0, %s) AS number
"""
# Which text each message has, in the order of their keys.
_SAID = """
    CREATE TEMP TABLE said AS
    SELECT nextval(pg_get_serial_sequence('chatapp_message', 'id')) AS id, chat, seq, number
    FROM (
        SELECT crowd.id AS chat, seq,
            %s * mod((crowd.number * %s + seq) * CAST(7919 AS bigint), %s) + mod(seq, %s) AS number
        FROM crowd CROSS JOIN generate_series(1, %s) AS seq
        ORDER BY crowd.number / %s, seq, crowd.number
    ) AS ordered
"""
_WORDS = """
    INSERT INTO chatapp_message_index (rowid, owner_id, conversation_id, text)
    SELECT said.id, owner, chat,
        CAST(words || ' ''' || md5(CAST(said.id AS text)) || ''':1' AS tsvector)
    FROM said JOIN template USING (number) JOIN crowd ON crowd.id = chat ORDER BY said.id
"""

_LATER = """
    UPDATE chatapp_message SET id = nextval(pg_get_serial_sequence('chatapp_message', 'id'))
    WHERE conversation_id = %(chat)s AND seq > %(seq)s
"""


def fill(messages: int, conversations: int, owners: Sequence[int]) -> None:
    """Store conversations of equal length, whose owners follow each other in the order given."""
    length = messages // conversations
    user, profile = make_owner(f"crowd {messages}")
    row = make_conversation(user, profile, 1)
    _make_templates()
    execute(_CROWD, [*owners], len(owners), conversations - 1)
    execute(_SAID, SHAPES, length, TEMPLATES // SHAPES, SHAPES, length, AT_ONCE)
    _copy(
        Conversation, row.pk, "crowd",
        id="crowd.id", owner_id="crowd.owner", title="'Conversation ' || crowd.number",
        last_seq=f"{length}", audit_seq=f"{length}",
        updated_at="now() - crowd.number * interval '1 minute'",
    )  # fmt: skip
    _copy(
        Message, row.messages.get().pk, "said JOIN template USING (number)",
        id="said.id", conversation_id="said.chat", seq="said.seq", position="said.seq",
        role="template.role", content="CAST(template.content AS json)",
        holds_results=f"mod(number, {SHAPES}) = 3", tokens="template.tokens",
    )  # fmt: skip
    execute(_WORDS)
    execute("DROP TABLE crowd, said, template")
    execute("VACUUM ANALYZE")


def _copy(model: type[models.Model], pk: object, made: str, **columns: str) -> None:
    """Store a copy of a row for each row of a clause, which gives it these columns."""
    own = model._meta
    names = ", ".join([f'"{one.column}"' for one in own.concrete_fields])
    taken = [columns.get(one.column, f'model."{one.column}"') for one in own.concrete_fields]
    table = own.db_table
    execute(
        f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE SELECT {', '.join(taken)} "  # noqa: S608 - names of our own
        f"FROM {made} CROSS JOIN {table} AS model WHERE model.id = %s",
        pk,
    )


def _make_templates() -> None:
    """Keep texts with their words in a table of this connection."""
    execute(
        "CREATE TEMP TABLE template "
        "(number int PRIMARY KEY, role text, content text, tokens int, words text)"
    )
    with connection.cursor() as cursor, cursor.copy("COPY template FROM STDIN") as copy:
        for number, block in enumerate(_blocks()):
            text = visible_text([block])
            role = "user" if number % 2 else "assistant"
            copy.write_row((number, role, json.dumps([block]), len(text) // 4, vector(text)))


def _blocks() -> Iterator[dict[str, Any]]:
    chance = random.Random(7)  # noqa: S311 - the same texts each time
    paragraphs = [
        one for path in sorted(CHATS.glob("*.txt")) for one in path.read_text("utf-8").split("\n\n")
    ]
    root = Path(sysconfig.get_path("purelib")) / "django"
    files = [path.read_text("utf-8") for path in sorted(root.rglob("*.py"))]
    files = [text for text in files if len(text) > CODE]
    for number in range(TEMPLATES):
        shape = number % SHAPES
        if shape == 2:
            call = {"path": f"src/module{number}.py"}
            yield {"type": "tool_use", "id": "call_1", "name": "read_file", "input": call}
        elif shape == 3:
            text = chance.choice(files)
            at = chance.randrange(len(text) - CODE)
            yield {"type": "tool_result", "tool_use_id": "call_1", "content": text[at : at + CODE]}
        else:
            yield {"type": "text", "text": "\n\n".join(chance.choices(paragraphs, k=3 - 2 * shape))}


def make_old_conversation(owner: User, profile: Profile) -> Conversation:
    """Return one that hides a hundred messages and shows as many, all from before the others'."""
    conversation: Conversation = make_conversation(owner, profile, 2 * SEEN, visible=SEEN)
    message_index.add(conversation.messages.all())
    return conversation


def go_on(conversation: Conversation) -> None:
    """Make the later half of its messages younger than all others."""
    later = {"chat": conversation.pk, "seq": SEEN}
    with connection.cursor() as cursor:
        cursor.execute(_LATER, later)
        cursor.execute("DELETE FROM chatapp_message_index WHERE conversation_id = %(chat)s", later)
    message_index.add(conversation.messages.all())
    execute("VACUUM ANALYZE")


def main(messages: int, conversations: int) -> None:
    """Fill the database with so many of each; print the id of an old conversation."""
    call_command("migrate", verbosity=0)
    owner, profile = prepare_owner()
    old = make_old_conversation(owner, profile)
    others = [User.objects.create(username=name).pk for name in NAMES]
    # The first has every second conversation, and the server's owner one in a hundred.
    owners = [one for other in others[1:] for one in (others[0], other)]
    fill(messages, conversations, [*owners, others[0], owner.pk])
    go_on(old)
    print(old.pk, flush=True)
