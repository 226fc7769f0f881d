"""The store says in queries what ``condense.history`` says on values."""

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings

import condense
from chatapp.conversations.context.sizes import hideable, sum_tokens
from chatapp.models import Conversation, Message, hidden_messages, message_store
from chatapp.records.maintenance.integrity import find_problems
from tests.bench.conversations import make_conversation
from tests.chatapp.conftest import Say, summarise
from tests.chatapp.models.twin import OPERATIONS, Twin, seen
from tests.records import append_many


# The owner is the only thing examples share.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS)
def test_queries_and_pure_functions_show_the_model_the_same(
    alice: User, operations: list[tuple[str, Any]]
) -> None:
    """After any sequence of operations, and after each of them."""
    twin = Twin(alice)
    for operation, argument in operations:
        twin.do(operation, argument)
        assert twin.agree(), operation
    rows = Message.objects.filter(conversation=twin.conversation).in_reading_order()
    stored = [message_store.to_engine(row) for row in rows]
    assert len(stored) == len(twin.history)
    assert [message.seq for message in stored] == [message.seq for message in twin.history]


def test_what_was_undone_is_hidden_again_where_it_is_whole(
    conversation: Conversation, say: Say
) -> None:
    """Not once a rewind has taken a part of it."""
    for text in ("One.", "Two.", "Three."):
        say("user", text)
    summary = summarise(conversation, keep=1)
    hidden_messages.undo_reduction(summary)
    assert hidden_messages.redo_reduction(summary)
    visible = message_store.read_effective(conversation.pk)
    assert [one.seq for one in visible] == [summary.seq, 3]
    hidden_messages.undo_reduction(summary)
    hidden_messages.rewind(conversation.pk, first_hidden_seq=2)
    assert not hidden_messages.redo_reduction(summary)


@pytest.mark.parametrize("kind", ["condense", "truncate"])
def test_each_version_keeps_what_was_condensed_while_it_was_shown(alice: User, kind: str) -> None:
    """Also where both hid the same messages: each names one parent only."""
    twin = Twin(alice)
    twin.say(8)
    twin.regenerate(2)
    getattr(twin, kind)(1)
    second = seen(message_store.read_effective(twin.conversation.pk))
    twin.switch(0)
    getattr(twin, kind)(1)
    first = seen(message_store.read_effective(twin.conversation.pk))
    for shown in (second, first, second):
        twin.switch(0)
        assert seen(message_store.read_effective(twin.conversation.pk)) == shown
        assert twin.agree()


def test_a_condensation_that_comes_back_hides_the_originals_of_one_undone_meanwhile(
    alice: User,
) -> None:
    """The page shows none of them as read by the model until that one is undone, too."""
    twin = Twin(alice)
    for operation, argument in (("say", 4), ("condense", 1), ("say", 4), ("condense", 1)):
        twin.do(operation, argument)
    shown = seen(message_store.read_effective(twin.conversation.pk))
    for operation in ("rewind", "undo", "undo_rewind"):
        twin.do(operation, 5)
        assert twin.agree(), operation
    assert seen(message_store.read_effective(twin.conversation.pk)) == shown
    assert [*find_problems()] == []
    twin.undo(0)
    assert twin.agree()
    texts = [one.text for one in message_store.read_effective(twin.conversation.pk)]
    assert texts == [f"message {number}" for number in range(1, 9)]


def test_the_marker_of_a_clearing_is_condensed_with_what_it_cleared(alice: User) -> None:
    """Behind a summary of these it would clear nothing, and be shown as if it did."""
    twin = Twin(alice)
    for operation, argument in (("say", 2), ("use_tool", True), ("clear", 0), ("condense", 1)):
        twin.do(operation, argument)
        assert twin.agree(), operation


def test_reading_what_the_model_sees_takes_one_query(conversation: Conversation, say: Say) -> None:
    """However much is stored behind a summary."""
    for number in range(100):
        say(("user", "assistant")[number % 2], f"message {number}")
    summarise(conversation)
    with CaptureQueriesContext(connection) as queries:
        message_store.read_effective(conversation.pk)
    assert len(queries) == 1
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # A hundred rows are read faster than any index.
            cursor.execute("ANALYZE chatapp_message; SET LOCAL enable_seqscan = off")
        how = "QUERY PLAN" if connection.vendor == "sqlite" else ""
        cursor.execute(f"EXPLAIN {how} {queries[0]['sql']}")
        assert "message_visible" in str(cursor.fetchall())


def test_what_is_hidden_here_and_there_is_found_however_often(conversation: Conversation) -> None:
    """A condition of as many parts would be too deep for the database."""
    message = condense.Message(role="user", content=(condense.TextBlock("Yes."),))
    append_many(conversation.pk, [(message, 1)] * 2_100)
    odd = [*range(1, 2_100, 2)]
    made = Message(conversation=conversation, hides=[[seq, seq] for seq in odd])
    found = Message.objects.hid_by(made).order_by("seq")
    assert [*found.values_list("seq", flat=True)] == odd


@pytest.mark.parametrize(("stored", "visible"), [(500, 500), (501, 501), (700, 501), (1_100, 600)])
def test_an_outline_comes_to_what_the_model_sees(
    alice: User, conversation: Conversation, stored: int, visible: int
) -> None:
    """In tokens and in messages as people see them, with a summary, a marker and results or not."""
    made = make_conversation(alice, conversation.profile, stored, visible)
    numbered = made.messages.annotate(fourth=F("seq") % 4)
    numbered.filter(fourth=3, condense_id=None).update(results=1, holds_results=True)
    first, *_others, last = made.messages.effective().written()[:5]
    rows = made.messages.effective().span((first.position, 0), (last.position, 0))
    name = uuid.uuid4()
    Message.objects.filter(pk__in=[one.pk for one in rows.written()]).update(
        hidden=True, truncation_parent=name
    )
    Message.objects.filter(pk=last.pk).update(truncation_id=name)
    seen = message_store.read_effective(made.pk)
    outline, beyond = message_store.read_outline(made.pk)
    assert sum_tokens(outline) == sum_tokens(seen)
    assert hideable(outline, beyond) == hideable(seen)
    assert len(outline) + beyond.get("count", 1) - 1 == len(seen)
    made.delete()
