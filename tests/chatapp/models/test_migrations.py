"""Migrations: a database of before goes on, an older one is refused, and all can be taken back.

`recorded/` holds a database of each kind as version 0.1.0 left it, with a row in every table.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from chatapp.management.commands.serve import migrate_if_needed
from chatapp.migrations import _operations
from chatapp.models import Conversation, Deletion
from chatapp.models.database import execute
from chatapp.models.databases import in_use, opened
from chatapp.records.maintenance.integrity import find_problems
from tests import postgresql
from tests.chatapp.models.full_database import fill

pytestmark = pytest.mark.django_db

RECORDED = Path(__file__).parent / "recorded"
TABLES = "chatapp_conversation", "chatapp_message", "chatapp_auditentry", "chatapp_preferences"


@pytest.fixture
def elsewhere(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """An empty database in place of the tests'."""
    with ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())
        name = str(tmp_path / "elsewhere.sqlite3")
        if connection.vendor == "postgresql":
            server = stack.enter_context(postgresql.server())
            name = urlsplit(stack.enter_context(postgresql.database(server))).path[1:]
        there = {**connection.settings_dict, "NAME": name}
        stack.enter_context(in_use(stack.enter_context(opened(there))))
        yield


@pytest.fixture
def recorded(elsewhere: None) -> None:
    """The database that version 0.1.0 left."""
    script = (RECORDED / f"{connection.vendor}.sql").read_text()
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(connection.settings_dict["NAME"])) as database:
            database.executescript(script)
    else:
        connection.ensure_connection()
        connection.connection.execute(script)
        # What the script has set for its session ends with that.
        connection.close()


def schema() -> dict[str, list[str]]:
    """Return the columns, constraints, indexes and triggers of each of our tables, in no order."""
    if connection.vendor == "sqlite":
        made = "SELECT tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    else:
        made = """
            SELECT table_name::text,
                concat_ws(' ', column_name, data_type, is_nullable, column_default)
            FROM information_schema.columns WHERE table_schema = 'public'
            UNION ALL SELECT conrelid::regclass::text, pg_get_constraintdef(oid)
            FROM pg_constraint WHERE conrelid > 0
            UNION ALL SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'
            UNION ALL SELECT tgrelid::regclass::text, pg_get_triggerdef(oid)
            FROM pg_trigger WHERE NOT tgisinternal
        """
    with connection.cursor() as cursor:
        cursor.execute(made)
        rows = cursor.fetchall()
    # A column that was added later stands last.
    found: dict[str, list[str]] = {name: [] for name, _sql in rows if name.startswith("chatapp_")}
    for name, sql in rows:
        if name in found:
            found[name] += (piece.strip() for piece in re.split(r"[,()\n]", sql))
    return {name: sorted(pieces) for name, pieces in found.items()}


def count_rows() -> dict[str, int]:
    """Return how many rows some tables have."""
    with connection.cursor() as cursor:
        return {
            name: cursor.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608 - ours
            for name in TABLES
        }


@pytest.fixture(scope="session")
def new_schema(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> dict[str, list[str]]:
    """The schema of a database that this version makes."""
    with django_db_blocker.unblock():
        return schema()


def test_a_database_of_before_goes_on(new_schema: dict[str, list[str]], recorded: None) -> None:
    """It becomes like a new one, table by table, and all that is in it is there and sound.

    The server is ready, as a start records that nothing has to be migrated.
    """
    before = count_rows()
    migrate_if_needed()
    known = MigrationLoader(None).disk_migrations
    assert known.keys() <= MigrationRecorder(connection).applied_migrations().keys()
    assert schema() == new_schema
    assert count_rows() == before
    assert min(before.values()) > 0
    assert [*find_problems()] == []


@pytest.mark.rare
def test_a_database_goes_back_to_nothing_and_is_made_again(
    new_schema: dict[str, list[str]], recorded: None
) -> None:
    """No table, index or trigger is left, and the next migration finds nothing in its way."""
    migrate_if_needed()
    call_command("migrate", "chatapp", "zero", verbosity=0)
    assert [name for name in schema() if "chatapp_" in name] == []
    call_command("migrate", verbosity=0)
    assert schema() == new_schema
    assert count_rows()["chatapp_message"] == 0
    assert [*find_problems()] == []


@pytest.mark.sqlite("a disk that is full while a file is migrated")
def test_a_migration_that_was_cut_off_is_begun_anew(elsewhere: None) -> None:
    """Also if its tables were made and it was not noted: nothing is in its way then."""
    MigrationRecorder(connection).ensure_schema()
    execute(
        "CREATE TRIGGER full BEFORE INSERT ON django_migrations WHEN NEW.app = 'auth'"
        " BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"
    )
    with pytest.raises(DatabaseError, match="disk is full"):
        call_command("migrate", "auth", verbosity=0)
    assert connection.introspection.table_names() == ["django_migrations"]
    execute("DROP TRIGGER full")
    call_command("migrate", "auth", verbosity=0)
    assert "auth_user" in connection.introspection.table_names()


def test_an_older_database_is_refused_with_the_version_to_migrate_with(recorded: None) -> None:
    """And stays as it is."""
    MigrationRecorder(connection).record_unapplied("chatapp", "0057_language")
    before = schema(), count_rows()
    for start in (migrate_if_needed, lambda: call_command("migrate", verbosity=0)):
        with pytest.raises(CommandError, match=r"older than version 0\.1\.0.*commit 319f6ce3"):
            start()
    assert (schema(), count_rows()) == before


def test_every_table_has_a_row_in_a_full_database(conversation: Conversation) -> None:
    """So that what moves, erases or checks rows is tried on all of them."""
    fill(conversation)
    Deletion.objects.create(user=conversation.owner, due_at=timezone.now())
    tables = [*apps.get_app_config("chatapp").get_models()]
    assert [one.__name__ for one in tables if not one._default_manager.exists()] == []
    assert [*find_problems()] == []


# Tables that may have millions of rows; and the newest migration of when nobody was working then.
LARGE = {
    *("message", "turn", "modelcall", "toolrun", "manifest", "fragment", "condensation", "rewind"),
    *("conversation", "auditentry", "attachment", "pin", "question", "turnrequest"),
}
AT_REST = "0067_contradictions"


def blocks(operation: Operation) -> bool:
    """Whether nobody can write to a large table while it makes an index of it."""
    of = getattr(operation, "model_name", "").lower()
    field = getattr(operation, "field", None)
    makes = isinstance(operation, migrations.AddIndex | migrations.AddConstraint) or (
        field and (field.unique or field.db_index)
    )
    return of in LARGE and bool(makes) and not isinstance(operation, _operations.AddIndex)


INDEX = models.Index(fields=["seq"], name="of_test")
LINK = models.ForeignKey("chatapp.Turn", models.CASCADE)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (migrations.AddIndex("message", INDEX), True),
        (migrations.AddIndex("preferences", INDEX), False),
        (_operations.AddIndex("message", INDEX), False),
        (
            migrations.AddConstraint(
                "Message", models.UniqueConstraint(fields=["seq"], name="of_test")
            ),
            True,
        ),
        (migrations.AddField("modelcall", "draft_of", LINK), True),
        (migrations.AddField("modelcall", "note", models.TextField(null=True)), False),
        (migrations.AlterField("turn", "zone", models.CharField(db_index=True)), True),
    ],
)
def test_an_index_that_blocks_is_known(operation: Operation, expected: bool) -> None:
    """By whatever operation it is made."""
    assert blocks(operation) == expected


def test_no_migration_makes_writers_wait_for_an_index() -> None:
    """Those in chatapp/migrations/_operations.py make one concurrently, in no transaction."""
    known = MigrationLoader(None).disk_migrations
    new = [one for (app, name), one in known.items() if app == "chatapp" and name > AT_REST]
    for migration in new:
        assert not [one for one in migration.operations if blocks(one)], migration.name
        if any(isinstance(one, _operations.AddIndex) for one in migration.operations):
            assert not migration.atomic
