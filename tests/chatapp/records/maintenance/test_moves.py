"""A database that is moved is the same one, or nothing was moved."""

from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder

import condense
from chatapp.conversations import conversations, rewind
from chatapp.models import Conversation, Manifest, Message, ModelCall, message_index
from chatapp.models.database import execute
from chatapp.models.databases import in_use, opened
from chatapp.models.errors import NotCopied
from chatapp.project.environment import APPLICATION, database_at
from chatapp.project.search import Query
from chatapp.records.maintenance import moves, row_copy
from chatapp.records.maintenance.integrity import find_problems
from tests import postgresql
from tests.chatapp.records.maintenance.conftest import KINDS, Make, own_database, rows_in
from tests.chatapp.records.maintenance.installation import Installation
from tests.chatapp.storage.recorded_session import Session
from tests.records import put_on_record


def move_to(database: Any) -> list[str]:
    """Move the database in use to another one, and return what is said."""
    said: list[str] = []
    moves.check_fit(database)
    moves.move(own_database(), database, said.append)
    return said


def move_from(source: Any, target: Any) -> list[str]:
    """Move one database to another, and return what is said."""
    with in_use(source):
        return move_to(target)


def found_by(database: Any, words: str) -> list[int]:
    """Return which messages have these words."""
    with in_use(database):
        owner = User.objects.get(username="alice")
        return [pk for pk, _chat in message_index.find_messages(owner, Query.read(words), limit=9)]


def test_what_goes_to_another_kind_of_database_and_back_is_the_same(
    lived: Conversation, make_database: Make
) -> None:
    """Each row of each table with its key, JSON byte for byte; nothing is wrong, all is found."""
    before = rows_in(own_database())
    there, back = make_database("postgresql"), make_database("file")
    said = move_to(there)
    assert move_from(there, back)[-3:] == said[-3:]
    for database in (there, back):
        assert rows_in(database) == before
        assert found_by(database, "north") == found_by(own_database(), "north") != []
        with in_use(database):
            assert [*find_problems()] == []
    rows = sum(map(len, before.values()))
    assert said[-3:] == [
        f"{rows:,} rows in {len(before)} tables: as many as before.",
        "The only request can be shown as it was sent.",
        f"All {Conversation.objects.count():,} audit chains hold.",
    ]
    assert f"chatapp_message: {Message.objects.count():,} rows" in said


@pytest.mark.parametrize("kind", KINDS)
def test_no_key_is_handed_out_again(alice: User, make_database: Make, kind: str) -> None:
    """Folders have names by the keys of users: the next one must not get what another one had."""
    gone = User.objects.create_user("gone")
    key = gone.pk
    gone.delete()
    there = make_database(kind)
    move_to(there)
    with in_use(there):
        assert User.objects.create_user("new").pk > key


def test_what_postgresql_can_not_hold_is_changed_and_said(alice: User, make_database: Make) -> None:
    """NUL in a line, lines and numbers that are too long: a file holds them all."""
    source, there = make_database("file"), make_database("postgresql")
    move_to(source)
    with in_use(source):
        chat = Conversation.objects.create(owner=User.objects.get())
        execute("UPDATE chatapp_conversation SET title = %s, last_seq = 1", "a\0b" + "x" * 300)
        call = ModelCall.objects.create(conversation=chat, purpose="chat")
        execute(
            "UPDATE chatapp_modelcall SET cost = %s, tokens_input = %s, seconds = %s",
            *(-(10.0**12), 2**40, 1e308),
        )
        content = '[{"type":"text", "text":"half \\ud83d of \\u0000 a compass", "n": 1.0}]'
        message = Message.objects.create(
            conversation=chat, seq=1, position=1, role="user", content=[], tokens=1
        )
        execute("UPDATE chatapp_message SET content = %s", content)
    said = move_from(source, there)
    changed = "1 value was changed, which the new database has no place for."
    columns = ("conversation.title", "modelcall.tokens_input", "modelcall.cost")
    assert [line for line in said if "changed" in line] == [
        f"chatapp_{column}: {changed}" for column in columns
    ]
    with in_use(there):
        assert Conversation.objects.get().title == "a\ufffdb" + "x" * 197
        moved = ModelCall.objects.get(pk=call.pk)
        assert moved.cost == Decimal("-9999999999.9999999999")
        assert (moved.tokens_input, moved.seconds) == (2**31 - 1, 1e308)
        assert execute("SELECT CAST(content AS text) FROM chatapp_message") == [(content,)]
    assert found_by(there, "compass") == [message.pk]


def test_where_a_row_can_not_be_moved_nothing_is(lived: Conversation, make_database: Make) -> None:
    """The target is empty again, and takes all once the row is mended; it is told, not shown."""
    source, there = make_database("file"), make_database("postgresql")
    move_to(source)
    with in_use(source):
        ((nonce,),) = execute("SELECT nonce FROM chatapp_queuedmessage")
        execute("UPDATE chatapp_queuedmessage SET nonce = 'my secret'")
    with pytest.raises(NotCopied, match=r"^chatapp_queuedmessage, after row 0: [^']+$"):
        move_from(source, there)
    with in_use(there):
        assert row_copy.first_found() is None
    with in_use(source):
        execute("UPDATE chatapp_queuedmessage SET nonce = %s", nonce)
    move_from(source, there)
    assert rows_in(there) == rows_in(own_database())


def test_where_a_connection_breaks_nothing_is_moved(
    lived: Conversation, make_database: Make
) -> None:
    """As where PostgreSQL is started anew in the middle; then it is moved from the beginning."""
    source, there = own_database(), make_database("postgresql")

    def cut(_line: str) -> None:
        with closing(there.Database.connect(**there.get_connection_params())) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    with pytest.raises((NotCopied, DatabaseError), match=r"terminat|connection"):
        moves.move(source, there, cut)
    with in_use(there):
        assert row_copy.first_found() is None
    move_to(there)
    assert rows_in(there) == rows_in(source)


def test_a_copy_that_is_not_the_same_is_given_up(alice: User, make_database: Make) -> None:
    """As where a line on record had to be cut: the chain tells of the whole one."""
    source, there = make_database("file"), make_database("postgresql")
    move_to(source)
    with in_use(source):
        chat = conversations.start_conversation(owner=User.objects.get())
        record = put_on_record(chat, at_seq=1, status="failed")
        execute("UPDATE chatapp_condensation SET model = %s", "m" * 101)
        record.refresh_from_db()
        record.enter()
        assert [*find_problems()] == []
    said = rf"^Not all audit chains hold in the copy: conversation {chat.pk}: Condensation .* model"
    with pytest.raises(NotCopied, match=said):
        move_from(source, there)
    with in_use(there):
        assert row_copy.first_found() is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_damaged_before_is_moved_and_said(
    conversation: Conversation, make_database: Make, kind: str
) -> None:
    """It is no reason to stay."""
    session = Session(conversation)
    session.say("user", condense.TextBlock("Begin"))
    session.send()
    rewind.rewind_conversation(conversation=conversation, first_hidden_seq=1)
    manifest, message = Manifest.objects.get(), Message.objects.get()
    sound = (bytes(manifest.digest), message.role)
    Manifest.objects.update(digest=b"0" * 32)
    Message.objects.update(role="assistant")
    assert move_to(make_database(kind))[-2:] == [
        "All 1 requests can be shown as they were sent but 1, as before: check_requests says more.",
        "All 1 audit chains hold but 1, as before: check_integrity says more.",
    ]
    Manifest.objects.update(digest=sound[0])
    Message.objects.update(role=sound[1])


def test_a_damaged_file_stays_where_it_is(alice: User, make_database: Make) -> None:
    """A row that names one that is not there would be refused at the other end."""
    source = make_database("file")
    move_to(source)
    with in_use(source):
        execute("PRAGMA foreign_keys = OFF")
        execute("DELETE FROM auth_user")
    with pytest.raises(NotCopied, match=r"is damaged: .*invalid foreign key"):
        move_from(source, make_database("postgresql"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_that_holds_something_is_left_alone(
    alice: User, make_database: Make, kind: str
) -> None:
    """Also one user alone, whom a server's first start makes."""
    there = make_database(kind)
    with in_use(there):
        User.objects.create_user("somebody")
    with pytest.raises(NotCopied, match=r" is not empty: there are rows in auth_user\.$"):
        move_to(there)
    with in_use(there):
        assert User.objects.get().username == "somebody"


def test_a_database_that_lacks_letters_is_refused(postgresql_server: str, db: None) -> None:
    """Before its tables are made: it would stop at the first text of another script."""
    with (
        postgresql.database(postgresql_server, encoding="SQL_ASCII") as address,
        opened(database_at("--to", address)) as there,
        pytest.raises(NotCopied, match=r"stores text as SQL_ASCII, which lacks most letters\."),
    ):
        move_to(there)


def test_a_database_that_somebody_uses_is_not_moved(alice: User, make_database: Make) -> None:
    """A server or a worker is known by the name of its connections; who only looks is let be."""
    there = make_database("postgresql")
    parameters = {**there.get_connection_params(), "application_name": "psql"}
    with closing(there.Database.connect(**parameters)):
        moves.check_unused(there)
    parameters["application_name"] = f"{APPLICATION} 42@web1"
    with closing(there.Database.connect(**parameters)):
        said = r"^postgresql://\w+@[\w.]+:\d+/\w+ is in use by process 42@web1\. Stop all servers"
        with pytest.raises(NotCopied, match=said):
            moves.check_unused(there)
        # Who came while it was moved is found, too.
        with pytest.raises(NotCopied, match=said):
            move_to(there)
        with in_use(there):
            assert row_copy.first_found() is None


def test_a_database_of_an_older_version_is_migrated_first(make_database: Make) -> None:
    """The copy would lack what this version adds."""
    with in_use(make_database("file")):
        MigrationRecorder(connection).migration_qs.filter(app="chatapp").delete()
        with pytest.raises(NotCopied, match=r"of an older version: run `manage\.py migrate`"):
            row_copy.check_migrated()


def test_what_can_not_be_a_target_is_said_in_one_line(
    here: Installation, postgresql_address: str
) -> None:
    """A wrong address, a server that is not there, a database that was never made."""
    wrong = here.refusal("move_database", "--to", "mysql://somewhere")
    assert wrong.startswith("--to must be an address such as postgresql://user:password@host/")
    for address in ("postgresql://127.0.0.1:1/none", f"{postgresql_address}_none"):
        refused = here.refusal("move_database", "--to", address)
        assert refused.startswith("Nothing was moved: connection ")
    assert "is there already" in here.refusal("move_database", "--to", "sqlite")
