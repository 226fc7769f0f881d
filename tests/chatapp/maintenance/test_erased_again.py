"""A backup that still holds an account gives it back to nobody."""

import shutil
from pathlib import Path

import pytest

from tests.chatapp.maintenance.test_commands import manage
from tests.chatapp.server_processes import serving
from tests.first_start import FirstStart

JOIN = """
from django.contrib.auth.models import User
from chatapp.conversations import conversations
carol = User.objects.create_user("carol", pk=7)
conversations.start_conversation(owner=carol, title="Carol's")
"""
LEAVE = """
from django.utils import timezone
from chatapp.models import Deletion
from chatapp.turns.account_deletions import delete_due
Deletion.objects.create(user_id=7, due_at=timezone.now())
delete_due()
"""
TELL = """
from django.contrib.auth.models import User
from chatapp.models import Conversation
print(*User.objects.values_list("username", flat=True).order_by("pk"), Conversation.objects.count())
"""


@pytest.mark.parametrize("kind", ["file", pytest.param("postgresql", marks=pytest.mark.soak)])
def test_a_restore_deletes_again_what_was_deleted(
    kind: str, tmp_path: Path, first_start: FirstStart, request: pytest.FixtureRequest
) -> None:
    """With its files, in place or on another machine; by a list that lies beside the backups.

    Somebody else's account of the same number stays.
    """
    there = {}
    if kind == "postgresql":
        there = {"DATABASE_URL": request.getfixturevalue("postgresql_address")}

    def run(data: Path, *words: str) -> str:
        done = manage(data, *words, **there)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def do(code: str) -> str:
        return run(data, "shell", "-v0", "-c", code).strip()

    data = first_start.copy(tmp_path / "data")
    run(data, "migrate")
    before = do(TELL)
    do(JOIN)
    plan = data / "workspaces" / "users" / "7" / "plan.txt"
    plan.parent.mkdir(parents=True)
    plan.write_text("Carol's plan.")
    file = data / "backups" / "early.tar.gz"
    file.parent.mkdir()
    run(data, "backup", str(file))
    do(LEAVE)
    after = do(TELL)
    assert "carol" not in after
    assert not plan.exists()

    said = run(data, "restore", str(file), "--replace")
    assert "1 account in it was deleted since, and was so again." in said
    assert do(TELL) == after
    assert not plan.exists()
    run(data, "check_integrity")

    names = {"list": "deleted-accounts.json", "archive": file.name}
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in names.values():
        shutil.copy(file.parent / name, kept)
    shutil.rmtree(file.parent)
    assert "deleted since" in run(data, "restore", str(kept / file.name), "--replace")
    assert do(TELL) == after

    # Whoever has the number on another server joined at another moment.
    for one in (kept, data / "backups"):
        listed = one / names["list"]
        listed.write_text(listed.read_text().replace('"joined": "2', '"joined": "1'))
    assert "deleted since" not in run(data, "restore", str(kept / file.name), "--replace")
    assert do(TELL).split() == [*before.split()[:-1], "carol", "1"]
    assert plan.exists()


def test_a_server_that_starts_deletes_what_is_due(tmp_path: Path, first_start: FirstStart) -> None:
    """Nobody has to do anything for it."""
    data = first_start.copy(tmp_path)

    def do(code: str) -> str:
        return manage(data, "shell", "-v0", "-c", code).stdout

    do(JOIN + LEAVE.removesuffix("delete_due()\n"))
    assert "carol" in do(TELL)
    with serving(data):
        while "carol" in do(TELL):
            pass
    assert "deleted:7" in do(TELL)
