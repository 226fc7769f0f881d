"""Files of a workspace as they were: kept before each change, brought back with the messages."""

import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

import condense
from chatapp.conversations import rewind
from chatapp.conversations.files.checkpoints import Change, Checkpoints
from chatapp.conversations.toolbox import toolbox
from chatapp.models import Checkpoint, Conversation, Rewind, Turn, errors, message_store
from chatapp.models.errors import CheckpointFailed
from tests.chatapp.claude import converse
from tests.chatapp.sockets import open_page
from tests.chatapp.turns.approval_steps import answer, until_asked
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

pytestmark = pytest.mark.skipif(not Checkpoints.are_possible(), reason="git is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with some files in it."""
    folder = tmp_path / "workspace"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "sub" / "b.bin").write_bytes(bytes(range(256)))
    return folder


def everything(folder: Path) -> dict[str, bytes | str]:
    """Return all files of a folder, links as where they lead."""
    return {
        str(one.relative_to(folder)): str(one.readlink()) if one.is_symlink() else one.read_bytes()
        for one in sorted(folder.rglob("*"))
        if one.is_symlink() or one.is_file()
    }


def test_files_come_back_with_every_byte(folder: Path) -> None:
    """Changed, removed, made; with permissions and links, whatever the folder asks of git."""
    (folder / ".gitattributes").write_text("* text=auto eol=crlf ident\n*.bin filter=lfs\n")
    (folder / ".gitignore").write_text("ignored\n*.txt\n")
    (folder / "ignored").write_text("kept all the same")
    (folder / "mixed").write_bytes(b"a\r\nb\n$Id$\r")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("a.txt")
    (folder / "weiß \n name").write_text("x")
    before = everything(folder)
    name = Checkpoints(folder).take()
    (folder / "a.txt").write_text("changed")
    (folder / "ignored").unlink()
    (folder / "mixed").write_bytes(b"")
    (folder / "run.sh").chmod(0o644)
    (folder / "new").write_text("new")
    (folder / "link").unlink()
    after = everything(folder)
    later = Checkpoints(folder).restore(name)
    assert everything(folder) == before
    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) & 0o111
    Checkpoints(folder).restore(later)
    assert everything(folder) == after


def test_the_users_own_repository_is_neither_used_nor_touched(folder: Path) -> None:
    """Its index, its hooks and its history stay as they are."""
    git = shutil.which("git") or ""
    subprocess.run([git, "init", "-q", str(folder)], check=True)
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {folder}/hooked\n")
    hook.chmod(0o755)
    before = everything(folder / ".git")
    name = Checkpoints(folder).take()
    (folder / "a.txt").write_text("changed")
    Checkpoints(folder).restore(name)
    assert everything(folder / ".git") == before
    assert not (folder / "hooked").exists()
    assert (folder / "a.txt").read_text() == "one\ntwo\n"


def test_what_would_change_is_told_before(folder: Path) -> None:
    """By file, line by line, changing nothing; folders that nobody wrote are left alone."""
    checkpoints = Checkpoints(folder)
    name = checkpoints.take()
    (folder / "a.txt").write_text("one\n2\n")
    (folder / "sub" / "b.bin").write_bytes(b"\0")
    before = everything(folder)
    changes, shown = checkpoints.changes(name)
    assert changes == [Change("a.txt", 1, 1), Change("sub/b.bin", None, None)]
    assert "-2\n+two" in shown
    assert everything(folder) == before
    (folder / "a.txt").write_text("three\n" * 20_000)
    assert checkpoints.changes(name)[1].endswith(" more characters of the difference.]\n")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "x.js").write_text("1")
    name = Checkpoints(folder).take()
    (folder / "node_modules" / "y.js").write_text("2")
    Checkpoints(folder).restore(name)
    assert (folder / "node_modules" / "y.js").exists()


@pytest.mark.parametrize("name", ["", "--help", "0" * 40])
def test_what_is_no_snapshot_changes_nothing(folder: Path, name: str) -> None:
    """No name becomes an option of git."""
    before = everything(folder)
    with pytest.raises(CheckpointFailed):
        Checkpoints(folder).restore(name)
    assert everything(folder) == before


@pytest.fixture
def standin(transactional_db: None) -> Iterator[Standin]:
    """The provider."""
    with Standin() as server:
        yield server


async def test_rewinding_brings_the_files_back_and_undoing_it_takes_them_forth(
    alice: User, browser: Client, standin: Standin
) -> None:
    """Or leaves them alone, as the person chooses; the dialog says what would change."""
    conversation = await sync_to_async(converse)(alice, standin)
    folder = toolbox.workspace_of(conversation)
    (folder / "a.txt").write_text("one\n")
    for number in (2, 3):
        write = ToolCall("write_file", {"path": "a.txt", "content": f"{number}\n"})
        standin.then(Reply(tools=(write,)), Reply("Done."))
    async with open_page(conversation, alice) as page:
        for _ in range(2):
            await page.say("Write.")
            await answer(browser, await until_asked(page), "once")
            await page.until_idle()
    assert (folder / "a.txt").read_text() == "3\n"
    assert await Checkpoint.objects.acount() == 2
    await sync_to_async(go_back_and_forth)(conversation, folder, browser)


def go_back_and_forth(conversation: Conversation, folder: Path, browser: Client) -> None:
    """Rewind with and without the files, and undo it, through the pages."""
    second = conversation.messages.questions().order_by("seq").last()
    assert second
    base = f"/c/{conversation.pk}"
    dialog = browser.get(f"{base}/rewind/preview/?to_seq={second.seq}").content.decode()
    assert "Messages and 1 file" in dialog
    assert "+2" in dialog
    others = [folder / f"{number}.txt" for number in range(51)]
    for one in others:
        one.touch()
    dialog = browser.get(f"{base}/rewind/preview/?to_seq={second.seq}").content.decode()
    assert ("Messages and 52 files" in dialog, "2 more" in dialog) == (True, True)
    for one in others:
        one.unlink()
    browser.post(f"{base}/rewind/", {"to_seq": second.seq})
    assert (folder / "a.txt").read_text() == "3\n"
    browser.post(f"{base}/rewinds/{Rewind.objects.get().pk}/undo/")
    browser.post(f"{base}/rewind/", {"to_seq": second.seq, "with_files": "on"})
    assert (folder / "a.txt").read_text() == "2\n"
    newest = Rewind.objects.order_by("-created_at")[0]
    browser.post(f"{base}/rewinds/{newest.pk}/undo/")
    assert (folder / "a.txt").read_text() == "3\n"
    browser.post(f"{base}/rewind/", {"to_seq": 1, "with_files": "on"})
    assert (folder / "a.txt").read_text() == "one\n"


def test_files_that_can_not_be_brought_back_keep_the_messages_too(
    conversation: Conversation, browser: Client
) -> None:
    """All of it is done, or nothing."""
    turn = Turn.objects.create(conversation=conversation, finished_at="2026-01-01T00:00Z")
    message = condense.Message("user", (condense.TextBlock("Hello"),))
    message_store.append_message(conversation.pk, message, tokens=1, turn=turn)
    Checkpoint.objects.create(turn=turn, seq=1, name="0" * 40)
    with pytest.raises(errors.Refused, match="Nothing was changed"):
        rewind.rewind_conversation(conversation=conversation, first_hidden_seq=1, files=True)
    assert not Rewind.objects.exists()


@pytest.mark.usefixtures("transactional_db")
def test_files_are_read_before_others_have_to_wait(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git takes a second for ten megabytes that it does not know, and nobody could write then."""
    locked = list[bool]()

    class WatchedCheckpoints(Checkpoints):
        def take(self) -> str:
            locked.append(connection.in_atomic_block)
            return super().take()

    folder = toolbox.workspace_of(conversation)
    turn = Turn.objects.create(conversation=conversation, finished_at="2026-01-01T00:00Z")
    message = condense.Message("user", (condense.TextBlock("Hello"),))
    message_store.append_message(conversation.pk, message, tokens=1, turn=turn)
    Checkpoint.objects.create(turn=turn, seq=1, name=Checkpoints(folder).take())
    (folder / "new").write_text("new")
    monkeypatch.setattr(rewind, "Checkpoints", WatchedCheckpoints)
    record = rewind.rewind_conversation(conversation=conversation, first_hidden_seq=1, files=True)
    assert not (folder / "new").exists()
    rewind.undo_rewind(rewind=record)
    assert (folder / "new").exists()
    assert locked == [False, False]
