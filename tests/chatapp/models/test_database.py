"""Statements that are written by hand."""

import uuid

from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from chatapp.models import Conversation, Message, Turn
from chatapp.models.database import execute, insert, select
from tests.chatapp.conftest import Say
from tests.chatapp.queries import statements


def test_rows_are_those_that_django_reads(conversation: Conversation, say: Say) -> None:
    """All their columns, in one statement, with what else was selected; values stay apart."""
    say("user", "Hello", tokens=41)
    sql = (
        "SELECT m.*, 1 + 1 AS two FROM chatapp_message m WHERE conversation_id = %s AND tokens = %s"
    )
    with statements() as sent:
        (row,) = select(Message, sql, conversation.pk, 41)
        columns = [field.attname for field in Message._meta.concrete_fields]
        found = [getattr(row, one) for one in (*columns, "two")]
    stored = Message.objects.get()
    assert found == [*(getattr(stored, one) for one in columns), 2]
    assert len(sent) == 1
    assert "41" not in sent[0]
    assert select(Message, sql, uuid.uuid4(), 41) == []


def test_rows_come_with_those_that_are_joined(
    conversation: Conversation, alice: User, say: Say
) -> None:
    """Each from its own columns, whatever they are called; what is not there is not made up."""
    turn = insert(Turn(conversation=conversation, question_seq=2))
    say("user", "Hello")
    say("user", "There")
    Message.objects.filter(seq=2).update(turn=turn)
    sql = (
        "SELECT m.*, t.*, c.*, m.seq + 1 AS more FROM chatapp_message m "
        "LEFT JOIN chatapp_turn t ON t.id = m.turn_id "
        "JOIN chatapp_conversation c ON c.id = m.conversation_id ORDER BY m.seq"
    )
    with statements() as sent:
        first, second = select(Message, sql, turn=Turn, conversation=Conversation)
        assert (first.turn, second.turn) == (None, turn)
        assert second.turn
        assert (second.turn.question_seq, second.turn.nonce) == (2, turn.nonce)
        assert first.conversation.owner_id == alice.pk
        assert [first.seq, second.seq] == [1, 2]
        assert [getattr(one, "more") for one in (first, second)] == [2, 3]  # noqa: B009 - no field
    assert len(sent) == 1


def test_a_change_returns_what_it_is_asked_for(conversation: Conversation) -> None:
    """Keys and moments are written as Django writes them."""
    now, sql = timezone.now(), "UPDATE chatapp_conversation SET updated_at = %s WHERE id = %s"
    assert execute(sql, now, conversation.pk) == []
    conversation.refresh_from_db()
    assert conversation.updated_at == now
    assert execute(f"{sql} RETURNING last_seq", now, conversation.pk) == [(0,)]
    assert execute(f"{sql} RETURNING last_seq", now, uuid.uuid4()) == []


def test_an_inserted_row_is_as_one_that_was_saved(conversation: Conversation) -> None:
    """Whether the database names it or not; what can't be written is mended in it, too."""
    known = insert(Turn(conversation=conversation, error="half \ud83d"))
    content = [{"type": "text", "text": "ä"}]
    place = {"conversation": conversation, "seq": 1, "position": 1}
    named = insert(Message(**place, turn=known, role="user", content=content, tokens=3))
    for row, model in ((known, Turn), (named, Message)):
        stored = model.objects.get(pk=row.pk)
        columns = [field.attname for field in model._meta.concrete_fields]
        assert [getattr(row, one) for one in columns] == [getattr(stored, one) for one in columns]
        assert not row._state.adding
        assert row._state.db == connection.alias
    named.tokens = 4
    named.save()
    assert Message.objects.get().tokens == 4
