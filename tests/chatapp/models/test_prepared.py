"""Queries that are compiled once."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection, models

from chatapp.conversations import conversations
from chatapp.models import Conversation, Message, Turn
from chatapp.models.database import Change, insert, prepared, prepared_update
from chatapp.models.messages import MessageQuerySet
from tests.chatapp.conftest import Say
from tests.chatapp.queries import statements
from tests.chatapp.scripted_turns import ask, end


def since(conversation: uuid.UUID, seq: int) -> MessageQuerySet:
    """Return messages with their turns."""
    rows = Message.objects.filter(conversation=conversation, seq__gte=seq, hidden=False)
    return rows.select_related("turn", "call").order_by("-seq")[:3]


read_since = prepared(conversation=models.UUIDField(), seq=models.IntegerField())(since)


@pytest.fixture
def talk(conversation: Conversation) -> list[Turn]:
    """Three turns."""
    return [end(ask(conversation, text), "Because.") for text in ("a", "b", "c")]


def test_it_finds_what_the_query_finds(conversation: Conversation, talk: list[Turn]) -> None:
    """Joined rows, which may be missing, and converted columns included; nothing is deferred."""
    for seq in (1, 4, 6, 7):
        found = read_since(conversation=conversation.pk, seq=seq)
        expected = list(since(conversation.pk, seq))
        with statements() as sent:
            assert [(row.pk, row.content, row.turn) for row in found] == [
                (row.pk, row.content, row.turn) for row in expected
            ]
        assert sent == []


def test_it_is_asked_anew_each_time(conversation: Conversation, say: Say) -> None:
    """Nothing is kept but the SQL."""
    assert read_since(conversation=conversation.pk, seq=1) == []
    row = say("user", "Hello")
    assert read_since(conversation=conversation.pk, seq=1) == [row]
    assert read_since(conversation=uuid.uuid4(), seq=1) == []


def test_values_come_as_the_query_gives_them(conversation: Conversation, alice: User) -> None:
    """A list of one column, say."""

    @prepared(owner=models.IntegerField())
    def titles(owner: int) -> models.QuerySet[Conversation, str]:
        return Conversation.objects.filter(owner=owner).values_list("title", flat=True)

    conversations.rename_conversation(conversation=conversation, title="One")
    assert titles(owner=alice.pk) == ["One"]


def test_it_is_one_statement_with_its_values_apart(conversation: Conversation) -> None:
    """What a value says is never part of the SQL."""
    read_since(conversation=conversation.pk, seq=1)
    with statements() as sent:
        read_since(conversation=conversation.pk, seq=41)
    (sql,) = sent
    assert "41" not in sql
    assert conversation.pk.hex not in sql


@prepared_update(
    conversation=models.UUIDField(), stop_reason=models.CharField(), seq=models.IntegerField()
)
def shift(conversation: uuid.UUID, stop_reason: str, seq: int) -> Change:
    """Change all messages from a number on, one column in terms of another."""
    rows = Message.objects.filter(conversation=conversation, seq__gte=seq)
    return rows, {"stop_reason": stop_reason, "tokens": models.F("tokens") + seq}


def test_an_update_changes_what_it_finds_and_says_how_many(
    conversation: Conversation, say: Say
) -> None:
    """Each time with other values, which are no part of the SQL."""
    rows = [say("assistant", "Hello", tokens=5) for _ in range(3)]
    assert shift(conversation=conversation.pk, stop_reason="it's", seq=1) == 3
    with statements() as sent:
        assert shift(conversation=conversation.pk, stop_reason="end", seq=3) == 1
    found = Message.objects.filter(pk__in=[row.pk for row in rows]).order_by("seq")
    assert [(row.stop_reason, row.tokens) for row in found] == [
        ("it's", 6),
        ("it's", 6),
        ("end", 9),
    ]
    assert shift(conversation=uuid.uuid4(), stop_reason="", seq=1) == 0
    assert "end" not in sent[0].partition("WHERE")[0]


def test_an_inserted_row_is_as_one_that_was_saved(conversation: Conversation, alice: User) -> None:
    """Whether the database names it or not; what can't be written is mended in it, too."""
    known = insert(Turn(conversation=conversation, error="half \ud83d"))
    named = insert(
        Message(
            conversation=conversation,
            turn=known,
            seq=1,
            position=1,
            role="user",
            content=[{"type": "text", "text": "ä"}],
            tokens=3,
        )
    )
    for row, model in ((known, Turn), (named, Message)):
        stored = model.objects.get(pk=row.pk)
        columns = [field.attname for field in model._meta.concrete_fields]
        assert [getattr(row, one) for one in columns] == [getattr(stored, one) for one in columns]
        assert not row._state.adding
    named.tokens = 4
    named.save()
    assert Message.objects.get().tokens == 4


@pytest.mark.django_db(transaction=True)
def test_each_thread_asks_through_its_own_connection(conversation: Conversation, say: Say) -> None:
    """Whichever thread compiled it."""
    row = say("user", "Hello")

    def read() -> list[Message]:
        try:
            return read_since(conversation=conversation.pk, seq=1)
        finally:
            # Django keeps a database in memory open.
            connection.connection.close()

    with ThreadPoolExecutor(1) as other:
        assert other.submit(read).result() == [row]
    assert read_since(conversation=conversation.pk, seq=1) == [row]


def test_an_update_returns_a_column_as_it_is_then(conversation: Conversation, say: Say) -> None:
    """In the same statement, of each row that it changes."""
    for _ in range(2):
        say("assistant", "Hello", tokens=5)
    with statements() as sent:
        told = shift.returning("tokens", conversation=conversation.pk, stop_reason="end", seq=2)
    assert (told, len(sent)) == ([7], 1)
    assert shift.returning("tokens", conversation=uuid.uuid4(), stop_reason="", seq=1) == []
