"""Migrations: an older database becomes like a new one, and all of it can be taken back."""

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, connections, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone
from pytest_django import DjangoDbBlocker

import condense
from chatapp.accounts import credentials, invitations
from chatapp.composer import attachments
from chatapp.condensation import undo
from chatapp.conversations import conversations, forks, pins
from chatapp.maintenance.integrity import find_problems
from chatapp.management.commands.serve import migrate_if_needed
from chatapp.models import (
    AttachmentTotal,
    BackgroundDraft,
    Checkpoint,
    CondensingPrompt,
    Conversation,
    Deletion,
    ImportRun,
    McpServer,
    Message,
    QueuedMessage,
    SavedCommand,
    ServerSettings,
    Source,
    ToolRun,
    TurnRequest,
    message_index,
)
from chatapp.search import Query
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
    invitations.invite(by=owner, role="member")
    attachments.attach_file(owner=owner, name="a.txt", data=b"A")
    turn = conversation.turns.latest("started_at")
    TurnRequest.objects.create(turn=turn, kind=TurnRequest.Kind.STOP)
    ToolRun.objects.create(turn=turn, call_id="c", name="list_files")
    Checkpoint.objects.create(turn=turn, seq=1, name="a" * 40)
    QueuedMessage.objects.create(conversation=conversation, nonce=uuid.uuid4(), text="Later.")
    CondensingPrompt.objects.create(owner=owner, name="Code", text="Name every file.")
    SavedCommand.objects.create(owner=owner, name="review", text="Review it.")
    McpServer.objects.create(owner=owner, name="Maps", address="maps")
    run = ImportRun.objects.begin(owner, "")
    Source.objects.create(conversation=conversation, form="palimpsest", run=run)
    BackgroundDraft.objects.create(conversation=conversation, owner="here")
    AttachmentTotal.objects.create(owner=owner, size=1)
    ServerSettings.read().save()


def say_as_then(talked: type[models.Model], said: type[models.Model], owner: int) -> uuid.UUID:
    """Have a conversation with a message as the first version stores it."""
    conversation = talked._default_manager.create(owner_id=owner, last_seq=1)
    said._default_manager.create(
        conversation=conversation,
        seq=1,
        position=1,
        role="user",
        content=[{"type": "text", "text": "a compass"}],
        tokens=1,
    )
    return uuid.UUID(str(conversation.pk))


@pytest.fixture
def older(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[MigrationExecutor]:
    """An empty database in place of the tests', and the migrations as they were one by one."""
    ours = connections["default"]
    other = type(ours)({**ours.settings_dict, "NAME": tmp_path / "older.sqlite3"})
    with django_db_blocker.unblock():
        connections["default"] = other
        executor = MigrationExecutor(other)
        executor.loader = MigrationLoader(other, replace_migrations=False)
        yield executor
        other.close()
        connections["default"] = ours


def schema() -> dict[str, str]:
    """Return how each table, index and trigger was made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master")
        return {name: "".join((sql or "").split()) for name, sql in cursor.fetchall()}


@pytest.fixture(scope="session")
def new_schema(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> dict[str, str]:
    """The schema of a database that this version makes."""
    with django_db_blocker.unblock():
        return schema()


@pytest.mark.sqlite("older versions had no other database")
def test_a_database_of_the_first_version_becomes_like_a_new_one(
    new_schema: dict[str, str], older: MigrationExecutor
) -> None:
    """Table by table, trigger by trigger; what was said is there, sound, and found."""
    state = older.migrate([("chatapp", "0001_initial")])
    then = state.apps.get_model
    owner = then("auth", "User").objects.create(username="alice").pk
    conversation = say_as_then(then("chatapp", "Conversation"), then("chatapp", "Message"), owner)
    call_command("migrate", verbosity=0)
    assert schema() == new_schema
    assert [*find_problems()] == []
    alice = User.objects.get()
    found = message_index.find_messages(alice, Query.read("compass"), limit=5)
    assert [talked for _message, talked in found] == [conversation]


@pytest.mark.django_db
def test_a_start_records_that_the_squashed_migration_is_applied() -> None:
    """Where an older version applied all that it replaces; else the server would not be ready."""
    recorder = MigrationRecorder(connection)
    known = MigrationLoader(None).disk_migrations
    squashed = [key for key, migration in known.items() if migration.replaces]
    for app, name in squashed:
        recorder.record_unapplied(app, name)
    migrate_if_needed()
    assert known.keys() <= recorder.applied_migrations().keys()


@pytest.fixture
def _put_back(transactional_db: None) -> Iterator[None]:
    """Leave the database behind as it was; to copy it takes less than to make it."""
    connection.ensure_connection()
    with closing(sqlite3.connect(":memory:")) as copy:
        connection.connection.backup(copy)
        yield
        copy.backup(connection.connection)


@pytest.mark.sqlite("its file is put back afterwards")
@pytest.mark.usefixtures("_put_back")
def test_a_database_with_rows_in_every_table_goes_back_to_nothing(
    conversation: Conversation,
) -> None:
    """No table, index or trigger is left."""
    fill(conversation)
    Deletion.objects.create(user=conversation.owner, due_at=timezone.now())
    tables = [*apps.get_app_config("chatapp").get_models()]
    assert [one.__name__ for one in tables if not one._default_manager.exists()] == []
    assert [*find_problems()] == []
    call_command("migrate", "chatapp", "zero", verbosity=0)
    assert [name for name in schema() if "chatapp_" in name] == []
