"""What a conversation offers to be typed, and what its built-in commands ask the server for."""

import uuid
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.conversations import conversations
from chatapp.conversations.composer import slash_commands
from chatapp.conversations.toolbox.toolbox import policies_of, workspace_of
from chatapp.models import Conversation, SavedCommand
from chatapp.records.importers.palimpsest import read_transcript
from tests.chatapp.conftest import Say, summarise


def put(conversation: Conversation, path: str, text: str) -> None:
    """Write a file into the workspace."""
    file = workspace_of(conversation) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_commands_are_listed_with_what_they_stand_for(
    conversation: Conversation, browser: Client, alice: User, bob: User
) -> None:
    """The built-in ones first, which nothing replaces; then the owner's and the workspace's.

    The first page has the owner's, and help, which lists what there will be.
    """
    put(conversation, ".palimpsest/commands/review.md", "---\nargument-hint: file\n---\nLook <b>.")
    put(conversation, ".palimpsest/commands/help.md", "Evil.")
    put(conversation, ".palimpsest/commands/long.md", "x" * 5_000)
    SavedCommand.objects.create(owner=alice, name="review", text="Mine.")
    SavedCommand.objects.create(owner=bob, name="other", text="Bob's.")
    answer = browser.get(reverse("commands", args=[conversation.pk])).json()
    texts = {one["name"]: one["text"] for one in answer["commands"]}
    names = ["condense", "rewind", "clear", "export", "help", "long", "review"]
    assert [*texts] == names
    assert (texts["help"], texts["review"], len(texts["long"])) == (None, "Mine.", 601)
    shown = browser.get(reverse("commands_help", args=[conversation.pk])).text
    assert all(f"/{name}</kbd>" in shown for name in names)
    offered = browser.get(reverse("saved_commands")).json()["commands"]
    assert [one["name"] for one in offered] == ["help", "review"]
    shown = browser.get(reverse("saved_commands_help")).text
    assert all(f"/{name}</kbd>" in shown for name in ("condense", "help", "review"))
    assert "/other</kbd>" not in shown


def test_paths_are_completed(conversation: Conversation, browser: Client) -> None:
    """As the composer puts them into the message."""
    put(conversation, "src/my file.py", "x")
    address = reverse("paths", args=[conversation.pk])
    assert browser.get(address, {"q": "my f"}).json() == {
        "paths": [{"path": "src/my file.py", "mention": '@"src/my file.py"', "folder": False}]
    }
    assert browser.get(address, {"q": "../"}).json() == {"paths": []}


def test_an_export_has_all_messages_and_can_be_imported(
    conversation: Conversation, browser: Client, say: Say, tmp_path: Path
) -> None:
    """The hidden ones too, each with what hides it."""
    say("user", "Hello")
    say("assistant", "Hi")
    summarise(conversation)
    conversations.rename_conversation(conversation=conversation, title='A "title"')
    answer = browser.get(reverse("export", args=[conversation.pk]))
    assert answer["Content-Disposition"] == 'attachment; filename="a-title.json"'
    (tmp_path / "export.json").write_bytes(answer.content)
    read = [one for one in read_transcript(tmp_path / "export.json") if isinstance(one, dict)]
    assert [one["role"] for one in read] == ["user", "assistant", "user"]


def test_clear_begins_a_conversation_like_this_one(
    conversation: Conversation, browser: Client, say: Say, bob: User
) -> None:
    """It reads and writes the same files, and the earlier one is as it was.

    Whatever a row says: no agent of another user may write there.
    """
    say("user", "Hello")
    put(conversation, "a.txt", "x")
    answer = browser.post(reverse("begin_again", args=[conversation.pk]))
    made = Conversation.objects.exclude(pk=conversation.pk).get()
    assert answer["Location"] == reverse("chat", args=[made.pk])
    assert (made.profile, made.last_seq) == (conversation.profile, 0)
    assert workspace_of(made) == workspace_of(conversation)
    assert conversation.messages.count() == 1
    assert made.profile
    assert policies_of(made, made.profile) == policies_of(conversation, made.profile)
    again = slash_commands.begin_again(conversation=made)
    assert workspace_of(again) == workspace_of(conversation)
    other = conversations.start_conversation(owner=bob, workspace=conversation.pk.hex)
    assert other.profile
    assert policies_of(other, other.profile)["write_file"] == "deny"


def settings_form(*commands: dict[str, str]) -> dict[str, str]:
    """Return the settings page as it is sent, with these commands."""
    form = {
        "threshold": "80", "step_limit": "50", "messages_kept": "3", "strategy": "",
        "commands-TOTAL_FORMS": str(len(commands)),
        "commands-INITIAL_FORMS": str(sum("id" in one for one in commands)),
    }  # fmt: skip
    named = enumerate(commands)
    return form | {f"commands-{i}-{key}": said for i, one in named for key, said in one.items()}


def test_commands_are_kept_in_the_settings(browser: Client, alice: User, bob: User) -> None:
    """Added, changed and removed with one Save; the number of somebody else's opens nothing."""
    address = reverse("settings")
    added = settings_form({"name": "one", "text": "1"}, {"name": "two", "text": "2"})
    assert browser.post(address, added).status_code == 302
    one, two = alice.saved_commands.all()
    again = browser.post(address, settings_form({"name": "one", "text": "3"}))
    assert "You have another one of this name." in again.text
    page = browser.get(address).text
    assert "/one" in page
    changed = settings_form(
        {"id": str(one.pk), "name": "uno", "text": "I"},
        {"id": str(two.pk), "name": "two", "text": "2", "DELETE": "on"},
        {"name": "three", "text": "3", "DELETE": "on"},
        {"name": "", "text": ""},
    )
    assert browser.post(address, changed).status_code == 302
    assert [*alice.saved_commands.values_list("name", "text")] == [("uno", "I")]
    theirs = SavedCommand.objects.create(owner=bob, name="theirs", text="Bob's")
    sent = settings_form({"id": str(theirs.pk), "name": "mine", "text": "Alice's"})
    browser.post(address, sent)
    assert [*bob.saved_commands.values_list("name", "text")] == [("theirs", "Bob's")]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("help", "x", "/help is built in"),
        ("Größe", "x", "small letters"),
        ("a\n", "", "This field is required"),
        ("long", "x" * 20_001, "at most 20000 characters"),
        ("twice", "x", "duplicate"),
    ],
)
def test_a_command_that_can_t_be_typed_is_refused(
    browser: Client, alice: User, name: str, text: str, why: str
) -> None:
    """With the reason beside it, and nothing else is saved."""
    commands = [{"name": name, "text": text}, {"name": "twice", "text": "y"}]
    answer = browser.post(reverse("settings"), settings_form(*commands))
    assert (answer.status_code, why in answer.text) == (422, True)
    assert not alice.saved_commands.exists()


def test_the_first_page_begins_no_conversation_with_a_built_in_command(browser: Client) -> None:
    """Its page would carry it out at every visit; any other text is a message.

    What is refused stays in its box, with what is attached: somebody wrote it.
    """
    attached = str(uuid.uuid4())
    sent = {"prompt": "<b>Hi", "attachments": [attached]}
    answer = browser.post(reverse("new_conversation"), sent)
    for words in ("is not attached any more", "&lt;b&gt;Hi</textarea>", f'"{attached}"'):
        assert words in answer.text
    answer = browser.post(reverse("new_conversation"), {"prompt": "/clear"}, follow=True)
    assert "This command is for a conversation." in answer.text
    assert "/clear</textarea>" in answer.text
    assert not Conversation.objects.exists()
    for number, prompt in enumerate(("/help me write", "/review"), start=1):
        browser.post(reverse("new_conversation"), {"prompt": prompt})
        assert Conversation.objects.count() == number
