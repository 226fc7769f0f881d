"""Columns that mend what can't be written, however it is stored."""

import math
import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Value
from django.db.models.expressions import DatabaseDefault
from django.test import Client
from django.urls import reverse

import condense
from chatapp.conversations import conversations
from chatapp.conversations.toolbox.toolbox import workspace_of
from chatapp.models import Condensation, Conversation, Message, Preferences, Turn, message_store
from tests.records import append_many, put_on_record

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


def test_what_the_database_gives_is_no_text_of_an_expression(conversation: Conversation) -> None:
    """Where a row leaves a column out, it has the column's own default, at hand and stored."""
    made = put_on_record(conversation, at_seq=0)
    assert made.rating_words == Condensation.objects.get().rating_words == ""
    column = Condensation._meta.get_field("rating_words")
    assert column.get_prep_value(given := DatabaseDefault(Value(""))) is given


def test_a_migration_knows_these_columns_as_django_s_own() -> None:
    """They differ in Python only."""
    for model, name in ((Message, "content"), (Turn, "error"), (Conversation, "title")):
        _name, path, _args, _kwargs = model._meta.get_field(name).deconstruct()
        assert path.startswith("django.db.models.")


def test_no_name_turns_around_what_it_stands_beside(
    conversation: Conversation, browser: Client
) -> None:
    """Of a title, also one that was stored before, of a profile, a file, a call's argument."""
    turned = "fdp\u202eexe.\u2069\u202d.txt"
    mended = "fdpexe..txt"
    conversation.title = turned
    conversation.save()
    assert conversation.title == mended
    table = {"title": "chatapp_conversation", "name": "chatapp_profile"}
    with connection.cursor() as cursor:
        for column, name in table.items():
            cursor.execute(f"UPDATE {name} SET {column} = %s", [turned])  # noqa: S608
    (workspace_of(conversation) / turned).write_text("x")
    beside = {condense.BESIDE: {"kind": "file", "name": turned}}
    blocks = (condense.TextBlock("a", beside), condense.TextBlock("b"))
    message_store.append_message(conversation.pk, condense.Message("user", blocks), tokens=1)
    message_store.append_message(conversation.pk, call({"path": turned}), tokens=1)
    pages = [reverse("conversations"), reverse("profiles")]
    pages += [reverse(name, args=[conversation.pk]) for name in ("chat", "files")]
    for page in pages:
        html = browser.get(page).content.decode()
        # What is a text of its own line turns nothing but itself around.
        shown = re.sub(r'value="[^"]*"|aria-label="[^"]*"|<pre.*?</pre>', "", html, flags=re.DOTALL)
        assert mended in shown, page
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", shown), page
