"""A backup that still holds an account gives it back to nobody."""

import shutil
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chatapp.conversations import conversations
from chatapp.models import AuditEntry, Conversation, Deletion, audit
from chatapp.records.account_deletions import delete_due
from tests.chatapp.records.maintenance.installation import Installation

NUMBER = 7


def names_in(installation: Installation) -> list[str]:
    """Return who has an account, and the titles of all conversations."""
    with installation.entered():
        users = User.objects.order_by("pk").values_list("username", flat=True)
        return [*users, *Conversation.objects.order_by("pk").values_list("title", flat=True)]


@pytest.mark.parametrize("kind", ["file", pytest.param("postgresql", marks=pytest.mark.soak)])
def test_a_restore_deletes_again_what_was_deleted(
    kind: str, here: Installation, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """With its files, in place or on another machine; by a list that lies beside the backups.

    Somebody else's account of the same number stays.
    """
    if kind == "postgresql":
        here = request.getfixturevalue("on_postgresql")
    with here.entered():
        carol = User.objects.create_user("carol", pk=NUMBER)
        made = conversations.start_conversation(owner=carol, title="Carol's")
        audit.append(made.pk, AuditEntry.Kind.SEAL)
    before = names_in(here)
    plan = here.data / "workspaces" / "users" / f"{NUMBER}" / "plan.txt"
    plan.parent.mkdir(parents=True)
    plan.write_text("Carol's plan.")
    file = here.data / "backups" / "early.tar.gz"
    file.parent.mkdir()
    here.run("backup", str(file))
    with here.entered():
        Deletion.objects.create(user=carol, due_at=timezone.now())
        delete_due()
    after = names_in(here)
    assert {"carol", "Carol's"} & {*after} == set()
    assert not plan.exists()

    said = here.run("restore", str(file), "--replace")
    assert "1 account in it was deleted since, and was so again." in said
    assert names_in(here) == after
    assert not plan.exists()
    here.run("check_integrity")

    names = {"list": "deleted-accounts.json", "archive": file.name}
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in names.values():
        shutil.copy(file.parent / name, kept)
    shutil.rmtree(file.parent)
    shutil.rmtree(*here.data.glob("before-restore-*"))
    assert "deleted since" in here.run("restore", str(kept / file.name), "--replace")
    assert names_in(here) == after

    # Whoever has the number on another server joined at another moment.
    for one in (kept, here.data / "backups"):
        listed = one / names["list"]
        listed.write_text(listed.read_text().replace('"joined": "2', '"joined": "1'))
    shutil.rmtree(*here.data.glob("before-restore-*"))
    assert "deleted since" not in here.run("restore", str(kept / file.name), "--replace")
    assert names_in(here) == before
    assert plan.exists()
