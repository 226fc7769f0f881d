"""Databases beside the tests' own, one in which everything has happened, and installations."""

import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, JSONField, TextField
from django.db.models.functions import Cast
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoDbBlocker

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, Deletion, message_store
from chatapp.models.databases import draft_at, in_use, opened, tables
from chatapp.project.environment import database_at
from chatapp.records.maintenance import row_copy
from chatapp.records.maintenance.backups import KEY
from tests import postgresql
from tests.chatapp.models.full_database import fill
from tests.chatapp.records.maintenance.installation import Installation
from tests.chatapp.records.transfer.lives import HUGE, Life
from tests.conftest import IN_CI
from tests.first_start import FirstStart, Once

Rows = dict[str, list[tuple[Any, ...]]]
Make = Callable[[str], BaseDatabaseWrapper]
KINDS = ("file", "postgresql")


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The address of a database on a server of PostgreSQL's."""
    if not IN_CI and not postgresql.is_installed():
        pytest.skip("needs Debian's postgresql: apt-get install postgresql")
    with postgresql.server() as address:
        yield address


@pytest.fixture
def postgresql_address(postgresql_server: str) -> Iterator[str]:
    """The address of an empty database of PostgreSQL's."""
    with postgresql.database(postgresql_server) as address:
        yield address


@pytest.fixture(scope="session")
def templates(
    postgresql_server: str, once: Once, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Callable[[str], str]]:
    """Return a database with its tables of each kind, made with the first that asks for it."""

    def migrate(options: Any) -> None:
        with django_db_blocker.unblock(), opened(options) as database, in_use(database):
            row_copy.migrate()

    def make_file(folder: Path) -> None:
        folder.mkdir()
        migrate(draft_at(folder / "template.sqlite3"))

    with ExitStack() as stack:

        @cache
        def made(kind: str) -> str:
            if kind == "file":
                return str(once.make("template", make_file) / "template.sqlite3")
            address = stack.enter_context(postgresql.database(postgresql_server))
            migrate(database_at("--to", address))
            return address

        yield made


@pytest.fixture
def make_database(
    templates: Callable[[str], str], transactional_db: None, tmp_path: Path
) -> Iterator[Make]:
    """Open an empty database with its tables: a "file", or one of "postgresql"."""
    with ExitStack() as stack:

        def make(kind: str) -> BaseDatabaseWrapper:
            template = templates(kind)
            if kind == "file":
                path = tmp_path / f"{uuid.uuid4().hex}.sqlite3"
                options: Any = draft_at(Path(shutil.copy(template, path)))
            else:
                like = template.rpartition("/")[2]
                address = stack.enter_context(postgresql.database(template, template=like))
                options = database_at("--to", address)
            return stack.enter_context(opened(options))

        yield make


@pytest.fixture(scope="session")
def talked(
    once: Once,
    first_start: FirstStart,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Path:
    """The folder of a server with one conversation of two messages, and the file of that."""

    def talk(data: Path) -> None:
        first_start.copy(data)
        said = (("user", "Where is north?"), ("assistant", "Up."))
        session = data / "session.json"
        session.write_text(json.dumps([{"role": role, "content": text} for role, text in said]))
        with django_db_blocker.unblock():
            Installation(data).run("import_transcript", str(session))

    return once.make("talked", talk)


@pytest.fixture(scope="session")
def moved(
    talked: Path, templates: Callable[[str], str], django_db_blocker: DjangoDbBlocker
) -> Iterator[str]:
    """The address of what that server's file becomes in PostgreSQL."""
    template = templates("postgresql")
    with postgresql.database(template, template=template.rpartition("/")[2]) as address:
        with django_db_blocker.unblock():
            Installation(talked).run("move_database", "--to", address)
        yield address


@pytest.fixture
def here(talked: Path, tmp_path: Path, db: None) -> Installation:
    """A server with one conversation of two messages, in a file."""
    return Installation(Path(shutil.copytree(talked, tmp_path / "server")))


@pytest.fixture
def on_postgresql(here: Installation, moved: str) -> Iterator[Installation]:
    """The same after it was moved to PostgreSQL."""
    here.file.unlink()
    with postgresql.database(moved, template=moved.rpartition("/")[2]) as address:
        yield Installation(here.data, address)


@pytest.fixture
def elsewhere(here: Installation, tmp_path: Path) -> Installation:
    """A folder without a database, as another machine has it, with the same key."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    shutil.copy(here.data / KEY, folder)
    return Installation(folder)


@pytest.fixture
def lived(transactional_db: None, alice: User, bob: User) -> Conversation:
    """A conversation with all that can be on record, and rows in each table, Django's too."""
    conversation = live(alice)
    Client().force_login(alice)
    Deletion.objects.create(user=bob, due_at=timezone.now())
    assert [one.name for one in tables() if not one.count()] == []
    return conversation


def live(user: User) -> Conversation:
    """Have a row of a user's in each table that has some, and return a conversation."""
    conversation = conversations.start_conversation(owner=user, title="“Nord” 北 \U0001f9ed")
    fill(conversation)
    life = Life(user)
    life.say(2)
    for place, name in enumerate(("talk", "use_huge", "record", "pin", "rewind", "fork", "edit")):
        life.do(name, place)
    call = condense.ToolUseBlock("z", "count", {"z": HUGE, "a": 1e-300, "": None, "é": "\u2028"})
    message_store.append_message(
        life.conversation.pk, condense.Message("assistant", (call,)), tokens=3
    )
    name = user.username
    kind = ContentType.objects.get_for_model(Conversation)
    allowed, _made = Permission.objects.get_or_create(content_type=kind, codename="read")
    group, _made = Group.objects.get_or_create(name="Readers")
    group.permissions.add(allowed)
    user.groups.add(group)
    user.user_permissions.add(allowed)
    mail = EmailAddress.objects.create(user=user, email=f"{name}@example.org")
    EmailConfirmation.objects.create(email_address=mail, key=name)
    Authenticator.objects.create(user=user, type="totp", data={"secret": "s"})
    UserSession.objects.create(user=user, ip="::1", session_key=name, user_agent="a browser")
    app, _made = SocialApp.objects.get_or_create(
        provider="openid_connect", name="one", client_id="c"
    )
    elsewhere = SocialAccount.objects.create(user=user, provider="oidc", uid=name)
    SocialToken.objects.create(app=app, account=elsewhere, token="t")
    return conversation


def rows_in(database: BaseDatabaseWrapper) -> Rows:
    """Return all that a database holds, JSON as it is written there."""
    found = {}
    with in_use(database):
        for table in tables():
            columns = [
                Cast(F(one.attname), TextField()) if isinstance(one, JSONField) else F(one.attname)
                for one in table.columns
            ]
            rows = table.model._base_manager.order_by("pk").values_list(*columns)
            found[table.name] = [
                tuple([bytes(one) if isinstance(one, memoryview) else one for one in row])
                for row in rows
            ]
    return found


def own_database() -> BaseDatabaseWrapper:
    """Return the tests' own."""
    return connections[DEFAULT_DB_ALIAS]
