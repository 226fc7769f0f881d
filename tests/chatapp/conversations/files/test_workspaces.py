"""The folders that a conversation may read, and the samples that a newcomer is shown."""

import re
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import AsyncClient

from chatapp.condensing import undo
from chatapp.conversations import conversations
from chatapp.conversations.files import workspaces
from chatapp.conversations.toolbox import toolbox
from chatapp.models import Condensation, Conversation, Message, Turn, errors
from tests.chatapp.sockets import open_page

ODD = ["..", "/etc", "missing", "out", "a\0b", "x" * 5_000, "users"]


@pytest.fixture
def root(settings: LazySettings) -> Path:
    """The folder of all workspaces."""
    root = Path(settings.WORKSPACES_ROOT)
    root.mkdir(parents=True)
    return root


def choose(conversation: Conversation, folder: str) -> Path:
    """Let the conversation read the folder; return where that is, below all workspaces."""
    workspaces.choose_workspace(conversation=conversation, folder=folder)
    conversation.refresh_from_db()
    return toolbox.workspace_of(conversation)


def refuse(conversation: Conversation, folder: str) -> None:
    """Expect that the folder is refused, and that nothing changes."""
    before = conversation.workspace
    with pytest.raises(errors.Refused, match="no workspace folder"):
        workspaces.choose_workspace(conversation=conversation, folder=folder)
    conversation.refresh_from_db()
    assert conversation.workspace == before


def test_a_user_s_own_folders_are_chosen_by_name(
    conversation: Conversation, alice: User, root: Path
) -> None:
    """And given up again."""
    own = root / "users" / str(alice.pk) / "project" / "src"
    own.mkdir(parents=True)
    assert choose(conversation, "project/src") == own
    assert choose(conversation, conversation.workspace) == own
    assert choose(conversation, "") == root / conversation.pk.hex


@pytest.mark.parametrize("rank", ["user", "superuser"])
def test_another_user_s_folders_and_what_is_no_workspace_are_refused(
    conversation: Conversation, alice: User, bob: User, root: Path, rank: str
) -> None:
    """Bob's files are not for Alice's agent, whatever way leads there and whoever asks."""
    User.objects.filter(pk=alice.pk).update(is_superuser=rank == "superuser")
    other = conversations.start_conversation(owner=bob)
    bobs = root / "users" / str(bob.pk)
    for folder in (bobs / "project", root / other.pk.hex, root / "users" / str(alice.pk)):
        folder.mkdir(parents=True)
    (root / "users" / str(alice.pk) / "link").symlink_to(bobs)
    (root / "out").symlink_to("/etc")
    theirs = (f"users/{bob.pk}", f"users/{bob.pk}/project", f"../{bob.pk}", other.pk.hex, "link")
    for name in (*theirs, *ODD):
        refuse(conversation, name)


def test_other_folders_are_the_operator_s_to_share(
    conversation: Conversation, alice: User, root: Path, settings: LazySettings
) -> None:
    """A superuser, who runs the server, reads them anyhow."""
    (root / "project" / "src").mkdir(parents=True)
    refuse(conversation, "project")
    settings.SHARED_WORKSPACES = ["project"]
    assert choose(conversation, "project/src") == root / "project" / "src"
    settings.SHARED_WORKSPACES = []
    refuse(conversation, "project")
    # The samples are everybody's.
    conversations.start_conversation(owner=alice, workspace=toolbox.SAMPLES)
    assert choose(conversation, toolbox.SAMPLES) == root / toolbox.SAMPLES
    User.objects.filter(pk=alice.pk).update(is_superuser=True)
    conversation.refresh_from_db()
    assert choose(conversation, "project") == root / "project"


def test_what_operators_have_linked_is_followed(
    conversation: Conversation, alice: User, root: Path, settings: LazySettings, tmp_path: Path
) -> None:
    """The folder of all workspaces, and a shared one; nothing that lies below them."""
    (tmp_path / "disk" / "src").mkdir(parents=True)
    (tmp_path / "disk" / "link").symlink_to("src")
    (root / "shared").symlink_to(tmp_path / "disk")
    (root / "users" / str(alice.pk) / "src").mkdir(parents=True)
    (tmp_path / "all").symlink_to(root)
    settings.WORKSPACES_ROOT, settings.SHARED_WORKSPACES = tmp_path / "all", ["shared"]
    assert choose(conversation, "shared/src") == tmp_path / "disk" / "src"
    assert choose(conversation, "src") == root / "users" / str(alice.pk) / "src"
    refuse(conversation, "shared/link")


@pytest.mark.django_db(transaction=True)
async def test_the_first_example_folds_once_and_answers_from_all_it_read(alice: User) -> None:
    """By itself, in mid-turn; what a summary says was read is not read again, and not forgotten.

    The originals fit again where it is undone.
    """
    browser = AsyncClient()
    await browser.aforce_login(alice)
    example = re.findall(r'name="prompt" value="([^"]+)', (await browser.get("/")).text)[0]
    begin = sync_to_async(conversations.start_conversation)
    conversation = await begin(owner=alice, workspace=toolbox.SAMPLES)
    files = {path.name for path in toolbox.workspace_of(conversation).iterdir()}
    async with open_page(conversation, alice) as page:
        await page.say(example)
        await page.until_idle()
    turn = await Turn.objects.aget()
    assert (turn.status, turn.error) == (Turn.Status.SUCCEEDED, "")
    folded = await Condensation.objects.aget()
    assert (folded.status, folded.trigger) == (Condensation.Status.SUCCEEDED, "auto")
    # One to list them, again after the summary, one for each file, the summary, and the answer.
    assert await turn.calls.acount() == len(files) + 4
    answer = await Message.objects.filter(role="assistant").order_by("-seq").afirst()
    assert answer is not None
    assert answer.seq > folded.at_seq
    text = answer.content[0]["text"]
    told = dict(re.findall(r"^- `(\S+)`: (.+)$", text, re.MULTILINE))
    assert told.keys() == files
    assert "web chat" in told["README.md"]
    assert f"{len(files) - 1} files, is hidden" in text
    assert "You can bring messages back." in text
    await sync_to_async(undo.undo_condensation)(condensation=folded)
    assert (await Condensation.objects.aget()).status == Condensation.Status.UNDONE
