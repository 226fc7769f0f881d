"""An account is erased: no row, no file and no word of it is left, and others lack nothing."""

import itertools
import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, models
from django.test import Client
from django.utils import timezone

import condense
from chatapp.conversations.files.checkpoints import Checkpoints
from chatapp.conversations.toolbox.toolbox import OWN, outputs_of
from chatapp.models import AuditEntry, Conversation, Deletion, Message, audit
from chatapp.models.databases import tables
from chatapp.models.fields import ReceiptField
from chatapp.records.account_deletions import delete_due
from chatapp.records.maintenance import erasure
from chatapp.records.maintenance.audit_check import verify_all
from chatapp.records.maintenance.integrity import find_problems
from tests.chatapp.audited import entries, live_through, problems, raw, taken_back
from tests.chatapp.queries import statements
from tests.chatapp.records.maintenance.conftest import Rows, live, own_database, rows_in
from tests.records import append_many

# In every column of Alice's that can hold one.
WORD = "zanzibar"
# What is nobody's.
SHARED = {
    "auth_group",
    "auth_group_permissions",
    "chatapp_process",
    "chatapp_serversettings",
    "socialaccount_socialapp",
}
# What of Alice's stays: that there was somebody, and the chains.
STAYING = {"auth_user", "chatapp_deletion", "chatapp_conversation", "chatapp_auditentry"}
CHAIN = {"payload", "previous", "hash", "audit_hash", "kind"}


def leave_files(user: User) -> None:
    """Have a file wherever the server keeps some for a user."""
    root = Path(settings.WORKSPACES_ROOT)
    chats = Conversation.objects.filter(owner=user)
    own = [root / OWN / str(user.pk) / "plans", *[root / one.pk.hex for one in chats]]
    for folder in (
        *own,
        *[outputs_of(one.pk) for one in chats],
        *[run.folder for run in user.imports.all()],
    ):
        folder.mkdir(parents=True)
        (folder / "plan.txt").write_text(f"{WORD} of {user.pk}")
    for folder in own[:2]:
        Checkpoints(folder).take()
    # A folder that is not there any more was in it as well.
    shutil.rmtree(own[0])
    # A command has made one that nothing can be removed from.
    (own[1] / "closed").mkdir()
    (own[1] / "closed" / "out").symlink_to("/")
    (own[1] / "closed").chmod(0o500)


def files() -> dict[str, bytes]:
    """Return all files of the server, but the list of who was erased."""
    found = [one for one in Path(settings.DATA_DIR).rglob("*") if one.is_file()]
    nobodys = ("locks", erasure.LIST)
    return {str(one): one.read_bytes() for one in found if not {*one.parts} & {*nobodys}}


def write_word(user: User) -> None:
    """Have a word in every column of the user's rows that can hold it, chains aside."""
    number = itertools.count()
    for rows in [*erasure._rows_of(user), models.QuerySet(Conversation).filter(owner=user)]:
        for pk in [*rows.values_list("pk", flat=True)]:
            written = {}
            for one in rows.model._meta.concrete_fields:
                word = f"{WORD}{next(number)}"
                if isinstance(one, models.BinaryField):
                    written[one.name] = word.encode()
                elif isinstance(one, models.JSONField) and not isinstance(one, ReceiptField):
                    written[one.name] = [{"type": "text", "text": word}]
                elif isinstance(one, models.TextField | models.CharField) and not one.primary_key:
                    written[one.name] = word
                    if one.name in CHAIN or len(word) > (one.max_length or 99):
                        del written[one.name]
            if written:
                models.QuerySet(rows.model).filter(pk=pk).update(**written)
    names = {
        "username": WORD,
        "first_name": WORD,
        "last_name": WORD,
        "email": f"{WORD}@example.org",
    }
    User.objects.filter(pk=user.pk).update(**names)


def make_due(user: User) -> None:
    """Let so much time pass that nothing is waited for any more."""
    Deletion.objects.create(user=user, due_at=timezone.now() - timedelta(days=2))


def after(pieces: int) -> Callable[[], bool]:
    """Return what says that the process ends, once it was asked so often."""
    left = [False] * pieces
    return lambda: not left or left.pop()


def stored() -> str:
    """Return all that the database holds, as it lies on the disk where that is one file."""
    if connection.vendor == "sqlite":
        # What lay between the cells of a page may stay there until something is written over it.
        connection.ensure_connection()
        connection.connection.execute("VACUUM")
        connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return Path(connection.settings_dict["NAME"]).read_bytes().decode("latin1").lower()
    return repr(rows_in(own_database())).lower()


@pytest.fixture
def before(transactional_db: None, bob: User) -> tuple[Rows, dict[str, bytes]]:
    """All rows and files before Alice came."""
    live(bob)
    leave_files(bob)
    return rows_in(own_database()), files()


@pytest.fixture
def leaving(before: object, alice: User) -> User:
    """Alice, with something everywhere, whose week is over."""
    browser = Client()
    browser.force_login(alice)
    session = browser.session
    session["said"] = WORD
    session.save()
    live(alice)
    leave_files(alice)
    make_due(alice)
    return alice


def new_rows(before: Rows) -> dict[str, int]:
    """Return how many rows each table has that were not there; all that were are."""
    now = rows_in(own_database())
    assert {
        name: [one for one in rows if one in now[name]] for name, rows in before.items()
    } == before
    return {
        name: len(now[name]) - len(rows)
        for name, rows in before.items()
        if len(now[name]) > len(rows)
    }


def test_nothing_of_an_account_is_left(
    before: tuple[Rows, dict[str, bytes]], leaving: User
) -> None:
    """Whatever tables there are; all of others is as it was. Chains stay, and hold."""
    rows, kept = before
    write_word(leaving)
    made_by_django = {one.name for one in tables() if one.is_made_by_django}
    assert new_rows(rows).keys() == rows.keys() - SHARED - made_by_django
    assert WORD in stored()
    chains = Conversation.objects.filter(audit_number__gt=0).count()
    delete_due()
    assert new_rows(rows).keys() == STAYING
    assert files() == kept
    assert WORD not in stored()
    assert [*find_problems()] == []
    assert sum(1 for one in verify_all() if one.entries) == chains
    leaving.refresh_from_db()
    assert leaving.username == f"deleted:{leaving.pk}"
    assert (leaving.is_active, leaving.has_usable_password(), leaving.email) == (False, False, "")


def test_an_erasure_that_was_killed_is_gone_on_with(
    before: tuple[Rows, dict[str, bytes]], leaving: User
) -> None:
    """After however many pieces; the chains hold at each."""
    pieces = 0
    while not Deletion.objects.exclude(done_at=None).exists():
        delete_due(after(pieces))
        assert [one for verdict in verify_all() for one in verdict.problems] == []
        pieces += 7
    assert new_rows(before[0]).keys() == STAYING
    assert files() == before[1]


@pytest.mark.parametrize("is_named", [True, False])
def test_an_erasure_excuses_what_it_names_and_what_is_gone(
    is_named: bool, alice: User, conversation: Conversation
) -> None:
    """One of an older version has no names, and means all that was on record until then."""
    live_through(conversation)
    make_due(alice)
    if not is_named:
        audit.append(conversation.pk, AuditEntry.Kind.ERASURE)
    delete_due()
    (verdict,) = verify_all()
    *_, last = conversation.audit_entries.in_order()
    assert (last.kind, verdict.problems) == ("erasure", [])
    assert (last.number, "erased" in json.loads(last.payload)) == (13, is_named)
    digests = {
        one for entry in entries(conversation) for one in json.loads(entry.payload)["digests"]
    }
    assert verdict.erased == len(digests)
    with taken_back():
        said = {"role": "user", "content": [], "tokens": 1, "position": 1}
        raw(Message).create(conversation=conversation, seq=1, **said)
        assert problems(conversation) == ["Message 1 is not what entry 13 has on record."]


def test_many_rows_are_deleted_in_pieces(
    alice: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nobody who writes meanwhile waits for all of them."""
    monkeypatch.setattr(erasure, "ROWS", 10)
    append_many(conversation.pk, [(condense.Message("user", ""), 1)] * 40)
    make_due(alice)
    with statements() as sent:
        delete_due()
    pieces = [one.count("%s") for one in sent if one.startswith('DELETE FROM "chatapp_message" ')]
    assert sum(pieces) == 40
    assert max(pieces) <= 10
