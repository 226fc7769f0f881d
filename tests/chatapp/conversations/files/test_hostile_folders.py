"""Workspaces that are a link by now, or not the user's any more: no way into one is open."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import LazySettings
from django.conf import settings as chosen
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import NO_LINE
from chatapp.conversations.composer import slash_commands
from chatapp.conversations.context.turn_context import (
    PROJECT_FILE,
    describe_surroundings,
    terms_with,
)
from chatapp.conversations.files import workspaces
from chatapp.conversations.files.checkpoints import Checkpoints
from chatapp.conversations.rewind import rewind_conversation
from chatapp.conversations.toolbox import toolbox
from chatapp.models import (
    Checkpoint,
    Conversation,
    Profile,
    Question,
    Rewind,
    Turn,
    message_store,
)
from chatapp.models.accounts import preferences_of
from chatapp.models.errors import CheckpointFailed, Refused
from chatapp.tools import shell
from chatapp.tools.shell import Shell
from chatapp.tools.workspace import WritableWorkspace
from tests.chatapp.browsers import HTMX
from tests.chatapp.exchanges import exchanging
from tests.chatapp.sockets import Page
from tests.chatapp.turns.approval_steps import answer, result_of, until_asked
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

SECRET = "not-for-alice"
REFUSED = "You have no workspace folder"
COMMAND = ".palimpsest/commands/steal.md"
FILES = ("key.py", PROJECT_FILE, COMMAND)

needs_git = pytest.mark.skipif(not Checkpoints.are_possible(), reason="git is not installed")
needs_bubblewrap = pytest.mark.skipif(
    shell.bubblewrap() is None, reason="bubblewrap is not installed"
)


@pytest.fixture
def root(settings: LazySettings) -> Path:
    """The folder of all workspaces."""
    root = Path(settings.WORKSPACES_ROOT)
    root.mkdir(parents=True)
    return root


def hide(folder: Path) -> Path:
    """Put what is secret into a folder; return the folder."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"def f(): return '{SECRET}'\n")
    return folder


def everything(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    found = sorted(folder.rglob("*"))
    return {str(one.relative_to(folder)): one.read_bytes() for one in found if one.is_file()}


def swap(folder: Path, target: Path) -> None:
    """Put a link in the place of a folder, as a command that works above it can."""
    shutil.rmtree(folder)
    folder.symlink_to(target)


# How a folder that was chosen becomes one that its conversation may not read.
def link_it(conversation: Conversation, root: Path) -> Path:
    """The folder is a link."""
    own = root / "users" / str(conversation.owner_id) / "sub"
    own.mkdir(parents=True)
    workspaces.choose_workspace(conversation=conversation, folder="sub")
    swap(own, hide(root.parent / "server"))
    return root.parent / "server"


def link_above(conversation: Conversation, root: Path) -> Path:
    """The folder lies behind a link."""
    own = root / "users" / str(conversation.owner_id) / "sub"
    (own / "deep").mkdir(parents=True)
    workspaces.choose_workspace(conversation=conversation, folder="sub/deep")
    swap(own, hide(root.parent / "server" / "deep").parent)
    return root.parent / "server" / "deep"


def demote(conversation: Conversation, root: Path) -> Path:
    """The owner is no operator any more."""
    folder = hide(root / "project")
    owner = User.objects.filter(pk=conversation.owner_id)
    owner.update(is_superuser=True)
    conversation.refresh_from_db()
    workspaces.choose_workspace(conversation=conversation, folder="project")
    owner.update(is_superuser=False)
    return folder


def take_out(conversation: Conversation, root: Path) -> Path:
    """The folder is not shared any more."""
    Conversation.objects.filter(pk=conversation.pk).update(workspace="once-shared")
    return hide(root / "once-shared")


def take_anothers(conversation: Conversation, root: Path) -> Path:
    """The folder has another user's number."""
    number = f"users/{conversation.owner_id}7"
    Conversation.objects.filter(pk=conversation.pk).update(workspace=number)
    return hide(root / number)


def climb(conversation: Conversation, root: Path) -> Path:
    """The folder lies beside the user's own."""
    path = f"users/{conversation.owner_id}/../9"
    Conversation.objects.filter(pk=conversation.pk).update(workspace=path)
    return hide(root / "users" / "9")


STATES = [link_it, link_above, demote, take_out, take_anothers, climb]


@pytest.fixture(params=STATES, ids=lambda one: one.__name__)
def spoilt(
    request: pytest.FixtureRequest, conversation: Conversation, root: Path
) -> tuple[Conversation, Path]:
    """A conversation whose folder is none for it, and where that leads."""
    message = condense.Message("user", (condense.TextBlock("Hello"),))
    turn = Turn.objects.create(conversation=conversation, finished_at="2026-01-01T00:00Z")
    message_store.append_message(conversation.pk, message, tokens=1, turn=turn)
    secret = request.param(conversation, root)
    return Conversation.objects.get(pk=conversation.pk), secret


def test_no_page_reads_or_writes_there(spoilt: tuple[Conversation, Path], browser: Client) -> None:
    """Each says why not; other pages of the conversation go on."""
    conversation, secret = spoilt
    before, base = everything(secret), f"/c/{conversation.pk}"
    upload = {"files": SimpleUploadedFile("new.txt", b"new")}
    for page in (
        browser.get(f"{base}/files/"),
        browser.get(f"{base}/files/", headers=HTMX),
        browser.get(f"{base}/files/file/", {"path": "key.py"}, headers=HTMX),
        browser.get(f"{base}/files/all/", headers=HTMX),
        browser.post(f"{base}/files/", upload, headers=HTMX),
        browser.post(f"{base}/files/file/remove/", {"path": "key.py"}, headers=HTMX),
        browser.post(f"{base}/messages/1/fork/", headers=HTMX),
        browser.post(f"{base}/again/", headers=HTMX),
    ):
        assert page.status_code == 422
        assert SECRET not in page.text
        assert REFUSED in page.text or "belongs to the server" in page.text
    for path in ("/", "/tools/", "/commands/", "/paths/?q=key", "/commands/help/"):
        page = browser.get(f"{base}{path}")
        assert page.status_code == 200, path
        assert not {SECRET, "key.py", "steal"} & {*page.text.split('"')}
    assert everything(secret) == before


@pytest.mark.django_db(transaction=True)
def test_no_message_and_no_prompt_has_a_word_of_it(spoilt: tuple[Conversation, Path]) -> None:
    """A path in a message is refused with a sentence, or text where it is sent once more."""
    conversation, secret = spoilt
    with pytest.raises(Refused, match=REFUSED):
        async_to_sync(slash_commands.expand)(conversation, "See @key.py", strict=True)
    for text in ("See @key.py", "/steal"):
        assert async_to_sync(slash_commands.expand)(conversation, text, strict=False).blocks == ()
    told = terms_with(conversation, Profile(owner=conversation.owner)).system
    conversation.owner.preferences.environment_details = True
    told += describe_surroundings(conversation, "", preferences_of(conversation.owner))
    assert SECRET not in told
    assert "key.py" not in told
    place = toolbox.folder_of(conversation)
    folded = condense.AttachFoldedFiles(place).fold(["key.py", str(secret / "key.py")], 10_000)
    assert folded.sections == ()
    assert toolbox.toolbox_for(place, conversation, conversation.profile).holds("key.py") is False


def test_a_folder_that_the_server_may_not_open_is_refused(
    conversation: Conversation, root: Path
) -> None:
    """A command may have taken away the right to."""
    (root / conversation.pk.hex).mkdir(mode=0)
    was = os.geteuid()
    # The system lets root open everything.
    os.seteuid(was or 65534)
    try:
        with pytest.raises(Refused, match=REFUSED):
            toolbox.workspace_of(conversation)
    finally:
        os.seteuid(was)


@needs_git
def test_no_checkpoint_is_taken_of_it_or_brought_back_there(
    spoilt: tuple[Conversation, Path],
) -> None:
    """The messages stay as they are, too; without files a rewind goes on."""
    conversation, secret = spoilt
    turn, before = Turn.objects.get(), everything(secret)
    Checkpoint.objects.create(turn=turn, seq=1, name="0" * 40)
    with pytest.raises(Refused, match=REFUSED):
        rewind_conversation(conversation=conversation, first_hidden_seq=1, files=True)
    rewind_conversation(conversation=conversation, first_hidden_seq=1)
    assert Rewind.objects.count() == 1
    assert everything(secret) == before


@pytest.mark.django_db(transaction=True)
async def test_the_tools_of_a_turn_refuse_it_from_one_call_to_the_next(
    conversation: Conversation, page: Page, root: Path, anthropic_standin: Standin, browser: Client
) -> None:
    """Its owner is made a member while a person is asked; the turn goes on without files."""
    folder = hide(root / "project")
    owner = User.objects.filter(pk=conversation.owner_id)
    await owner.aupdate(is_superuser=True)
    await conversation.arefresh_from_db()
    choose = sync_to_async(workspaces.choose_workspace)
    await choose(conversation=conversation, folder="project")
    calls = [ToolCall("read_file", {"path": "key.py"}), ToolCall("list_files", {"path": "."})]
    write = ToolCall("write_file", {"path": "key.py", "content": "new"})
    replies = [Reply(tools=[one]) for one in (calls[0], write, write, *calls)]
    anthropic_standin.then(*replies, Reply("Done."))
    await page.say("Work.")
    question = await until_asked(page)
    assert SECRET in question.text or SECRET in str(question.__dict__)
    assert SECRET in result_of(anthropic_standin)
    await owner.aupdate(is_superuser=False)
    await answer(browser, question, "once")
    await page.until_idle()
    results = [str(one.body["messages"][-1]) for one in anthropic_standin.requests[2:]]
    assert len(results) == 4
    assert not [one for one in results if SECRET in one]
    assert [REFUSED in one or "switched off" in one for one in results] == [True] * 4
    assert "new" not in (folder / "key.py").read_text()
    # Nor was a person shown what the second call would change.
    assert await Question.objects.acount() == 1


@pytest.fixture
def folder(tmp_path: Path, settings: LazySettings) -> Path:
    """A workspace that was looked at a moment ago, where commands are allowed."""
    settings.ALLOW_COMMANDS = True
    folder = tmp_path / "workspace"
    (folder / "sub").mkdir(parents=True)
    (folder / "key.py").write_text("mine")
    return folder


async def run_there(folder: Path) -> object:
    """Have a command say what it sees."""
    outputs = Path(chosen.DATA_DIR) / "outputs"
    ran = await Shell(folder, outputs, NO_LINE).run("cat key.py; ls", 60)
    return ran.output.read_text()


def read_there(folder: Path) -> bytes:
    """Return what a file says."""
    with condense.open_file(folder / "key.py") as file:
        return file.read()


USES: dict[str, Callable[[Path], object]] = {
    "read": lambda folder: WritableWorkspace(folder).read_bytes("key.py"),
    "walk": lambda folder: [*WritableWorkspace(folder).walk()],
    "write": lambda folder: WritableWorkspace(folder).write_bytes("new/key.py", b"new"),
    "remove": lambda folder: WritableWorkspace(folder).remove("key.py"),
    "keep": lambda folder: Checkpoints(folder).take(),
    "run": lambda folder: asyncio.run(run_there(folder)),
    "open": read_there,
    "fold": lambda folder: condense.AttachFoldedFiles(folder).fold(["key.py"], 10_000).sections,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("place", ["workspace", "workspace/sub"])
@pytest.mark.parametrize("what", ["link", "file", "pipe", "nothing"])
def test_a_folder_that_is_exchanged_after_it_was_looked_at_leads_nowhere(
    folder: Path, tmp_path: Path, use: str, place: str, what: str
) -> None:
    """For a link to what is secret, or for anything else; itself, or one above it."""
    secret = hide(tmp_path / "server" / Path(place).relative_to("workspace"))
    before = everything(tmp_path / "server")
    shutil.rmtree(folder)
    if what == "link":
        folder.symlink_to(tmp_path / "server")
    elif what == "file":
        folder.write_text("x")
    elif what == "pipe":
        os.mkfifo(folder)
    with suppress(ToolError, CheckpointFailed, OSError):
        said = USES[use](tmp_path / place)
        # What is missing may be made anew.
        assert what == "nothing" or not said
    assert everything(tmp_path / "server") == before
    assert secret.exists()


# Stands for bubblewrap, and exchanges a folder for a link before that begins.
SWAPPING = """#!/bin/sh
case "$*" in *" add "*|*/bin/sh*)
    mv '{folder}' '{folder}-moved'
    ln -s '{secret}' '{folder}' ;;
esac
exec {program} "$@"
"""


@needs_git
@needs_bubblewrap
@pytest.mark.parametrize("use", ["run", "keep"])
def test_bubblewrap_binds_the_folder_that_was_opened(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    """Whatever lies in its place by the time that it begins."""
    secret, program = hide(tmp_path / "server"), tmp_path / "bin" / "bwrap"
    before = everything(secret)
    program.parent.mkdir()
    program.write_text(SWAPPING.format(folder=folder, secret=secret, program=shutil.which("bwrap")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with suppress(CheckpointFailed):
        assert "mine" in str(USES[use](folder))
    assert (tmp_path / "workspace-moved").is_dir()
    assert everything(secret) == before
    if use == "keep":
        kept = kept_of(Checkpoints(folder))
        assert b"mine" in kept
        assert SECRET.encode() not in kept


def test_a_command_without_bubblewrap_runs_in_the_folder_that_was_opened(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link comes while bubblewrap is tried, which does not work."""
    secret, program = hide(tmp_path / "server"), tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\n/bin/mv {folder} {folder}-moved\n/bin/ln -s {secret} {folder}\nexit 1"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert "mine" in str(USES["run"](folder))


def test_a_file_is_opened_as_itself(folder: Path) -> None:
    """A link is none."""
    (folder / "link").symlink_to("key.py")
    with pytest.raises(OSError, match="symbolic links"):
        condense.open_file(folder / "link")


def test_a_race_for_a_folder_is_never_won(folder: Path, tmp_path: Path) -> None:
    """Link and folder change places as fast as they can while it is read and written."""
    secret, link = hide(tmp_path / "server"), tmp_path / "link"
    before = everything(secret)
    link.symlink_to(secret)
    with exchanging(folder, link):
        for number in range(300):
            for use in ("read", "walk", "write", "remove", "fold", "open"):
                with suppress(ToolError, OSError):
                    assert SECRET not in str(USES[use](folder)), number
    assert everything(secret) == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.rare
def test_no_upload_and_no_mention_wins_a_race_for_a_folder(
    conversation: Conversation, root: Path, browser: Client
) -> None:
    """The workspace and a link change places while a page uploads, and a message names a file."""
    own, link = root / conversation.pk.hex, root / "link"
    own.mkdir()
    (own / "key.py").write_text("mine")
    link.symlink_to(secret := hide(root.parent / "server"))
    before, address, said, stored = everything(secret), f"/c/{conversation.pk}/files/", "", set()
    with exchanging(own, link):
        for number in range(100):
            upload = {"files": SimpleUploadedFile(f"{number}.txt", b"new")}
            stored.add(browser.post(address, upload, headers=HTMX).status_code)
            expanded = async_to_sync(slash_commands.expand)(
                conversation, "See @key.py", strict=False
            )
            said += str(expanded.blocks)
    assert SECRET not in said
    assert everything(secret) == before
    # At times the folder was there.
    assert ("mine" in said, 302 in stored) == (True, True)


@needs_git
@needs_bubblewrap
def test_git_follows_no_link_that_comes_into_a_folder(folder: Path, tmp_path: Path) -> None:
    """While files are kept and brought back, which then may fail."""
    secret, link, checkpoints = hide(tmp_path / "server"), folder / "link", Checkpoints(folder)
    # Many, so that one of them is read at a bad moment.
    for number in range(300):
        (secret / str(number)).write_text(SECRET)
        (folder / "sub" / str(number)).write_text("mine")
    before, name = everything(secret), checkpoints.take()
    link.symlink_to(secret)
    with exchanging(folder / "sub", link):
        for _ in range(10):
            with suppress(CheckpointFailed):
                checkpoints.take()
                checkpoints.restore(name)
    assert everything(secret) == before
    assert SECRET.encode() not in kept_of(checkpoints)


def kept_of(checkpoints: Checkpoints) -> bytes:
    """Return all that git has kept."""
    asked = ("git", "--git-dir", checkpoints.repository, "cat-file", "--batch-all-objects")
    return subprocess.check_output([*asked, "--batch"])
