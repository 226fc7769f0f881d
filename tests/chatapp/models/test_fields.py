"""Columns that mend what can't be written, however it is stored."""

import math

import pytest
from django.contrib.auth.models import User

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, Message, Preferences, Turn, message_store
from tests.records import append_many

pytestmark = pytest.mark.django_db

BROKEN, MENDED = "a \ud83d \0", "a \ufffd \ufffd"


def call(arguments: object) -> condense.Message:
    """Return a reply that calls a tool."""
    block = condense.ToolUseBlock("c", "read_file", arguments)
    return condense.Message(role="assistant", content=(block,))


def test_a_stored_message_is_mended_in_the_database_and_at_hand(conversation: Conversation) -> None:
    """The row is shown before it is read again."""
    row = message_store.append_message(
        conversation.pk, call({"n": math.nan, "t": BROKEN}), tokens=1
    )
    mended = [
        {"type": "tool_use", "id": "c", "name": "read_file", "input": {"n": "nan", "t": MENDED}}
    ]
    assert row.content == mended
    assert Message.objects.get(pk=row.pk).content == mended


def test_what_is_stored_otherwise_is_mended_too(conversation: Conversation, alice: User) -> None:
    """Many rows at once, by an update, and whatever form or frame it came in."""
    append_many(conversation.pk, [(call({"t": BROKEN}), 1)])
    assert Message.objects.get().content[0]["input"] == {"t": MENDED}
    Turn.objects.create(conversation=conversation)
    Turn.objects.update(error=BROKEN, details=BROKEN)
    Message.objects.update(content={"a": math.inf})
    turn = Turn.objects.get()
    assert (turn.error, turn.details) == (MENDED, MENDED)
    conversations.rename_conversation(conversation=conversation, title=BROKEN)
    Preferences.objects.update(condensing_prompt=BROKEN)
    conversation.refresh_from_db()
    assert conversation.title == MENDED
    assert Preferences.objects.get(owner=alice).condensing_prompt == MENDED


def test_a_migration_knows_these_columns_as_django_s_own() -> None:
    """They differ in Python only."""
    for model, name in ((Message, "content"), (Turn, "error"), (Conversation, "title")):
        _name, path, _args, _kwargs = model._meta.get_field(name).deconstruct()
        assert path.startswith("django.db.models.")
