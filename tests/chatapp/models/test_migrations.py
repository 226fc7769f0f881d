"""All migrations can be taken back and made again, whatever is stored."""

import uuid
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader

import condense
from chatapp.accounts import credentials
from chatapp.composer import attachments
from chatapp.condensation import undo
from chatapp.conversations import conversations, forks, pins
from chatapp.maintenance.integrity import find_problems
from chatapp.models import (
    Checkpoint,
    Conversation,
    McpServer,
    Message,
    QueuedMessage,
    SavedCommand,
    Source,
    ToolRun,
    message_index,
)
from chatapp.search.queries import Query
from tests.chatapp.audited import condense_on_record, live_through
from tests.chatapp.storage.test_requests import Session


def fill(conversation: Conversation) -> None:
    """Have a row in every table, as people and their models come to have them."""
    owner = conversation.owner
    live_through(conversation)
    undo.undo_condensation(condensation=condense_on_record(conversation))
    session = Session(conversation)
    session.say("user", condense.TextBlock("Begin"))
    session.send()
    newest = Message.objects.filter(conversation=conversation).latest("seq")
    pins.pin_message(conversation=conversation, seq=newest.seq)
    pins.pin_rule(conversation=conversation, text="Answer briefly.")
    forks.fork_conversation(conversation=conversation, seq=newest.seq)
    conversations.share_conversation(conversation=conversation)
    conversations.move_conversation(conversation=conversation, folder=None, named="Travels")
    credentials.create_sign_in_token(user=owner)
    credentials.create_api_token(owner=owner, name="script", scope="read")
    attachments.attach_file(owner=owner, name="a.txt", data=b"A")
    turn = conversation.turns.latest("started_at")
    ToolRun.objects.create(turn=turn, call_id="c", name="list_files")
    Checkpoint.objects.create(turn=turn, seq=1, name="a" * 40)
    QueuedMessage.objects.create(conversation=conversation, nonce=uuid.uuid4(), text="Later.")
    SavedCommand.objects.create(owner=owner, name="review", text="Review it.")
    McpServer.objects.create(owner=owner, name="Maps", address="maps")
    Source.objects.create(conversation=conversation, form="palimpsest")


def tables() -> list[type[models.Model]]:
    """Return all models."""
    return [*apps.get_app_config("chatapp").get_models()]


def said() -> list[tuple[int, str, object]]:
    """Return all that was ever said."""
    return [*Message.objects.order_by("pk").values_list("seq", "role", "content")]


def say_as_then(owner: User) -> uuid.UUID:
    """Have a conversation with a message as the first version stores it."""
    # The models as they were: columns have been added since.
    then = MigrationLoader(connection).project_state(("chatapp", "0001_initial")).apps
    talked = then.get_model("chatapp", "Conversation").objects.create(owner_id=owner.pk, last_seq=1)
    then.get_model("chatapp", "Message").objects.create(
        conversation=talked,
        seq=1,
        position=1,
        role="user",
        content=[{"type": "text", "text": "a compass"}],
        tokens=1,
    )
    return talked.pk


@pytest.fixture
def _now() -> Iterator[None]:
    """Leave the tables of today behind."""
    yield
    call_command("migrate", verbosity=0)


@pytest.mark.usefixtures("_now")
@pytest.mark.django_db(transaction=True)
def test_a_database_with_rows_in_every_table_goes_back_and_forth(
    conversation: Conversation,
) -> None:
    """To the first version and again to this one: what that one knew is there, sound, and found."""
    fill(conversation)
    before = said()
    assert [one.__name__ for one in tables() if not one._default_manager.exists()] == []
    assert [*find_problems()] == []
    call_command("migrate", "chatapp", "0001", verbosity=0)
    old = say_as_then(conversation.owner)
    call_command("migrate", verbosity=0)
    assert said()[:-1] == before
    assert [*find_problems()] == []
    found = message_index.find_messages(conversation.owner, Query.read("compass"), limit=5)
    assert [talked for _message, talked in found] == [old]


@pytest.mark.soak
@pytest.mark.usefixtures("_now")
@pytest.mark.django_db(transaction=True)
def test_a_database_with_rows_in_every_table_goes_back_to_nothing(
    conversation: Conversation,
) -> None:
    """No table is left, and all of them can be made again."""
    fill(conversation)
    call_command("migrate", "chatapp", "zero", verbosity=0)
    names = connection.introspection.table_names()
    assert [one for one in names if one.startswith("chatapp_")] == []
    call_command("migrate", verbosity=0)
    assert [one.__name__ for one in tables() if one._default_manager.exists()] == []
    assert [*find_problems()] == []
