"""Commands and paths in messages: what they stand for goes with the message, and stays."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

import condense
from chatapp.conversations.toolbox.toolbox import workspace_of
from chatapp.models import Conversation, Message, SavedCommand, message_store
from tests.chatapp.conversations.composer.conftest import EVERY_DOOR, said, tell
from tests.chatapp.sockets import Page
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

REVIEW = '<command name="review">\nReview a.py closely.\n</command>'
FILE = '<file name="a.py">\n     1\tprint("Hello")\n</file>'


@pytest.fixture(autouse=True)
def files(conversation: Conversation) -> None:
    """A file and a command in the conversation's workspace."""
    folder = workspace_of(conversation)
    (folder / "a.py").write_text('print("Hello")\n')
    put_command(folder, "review", "---\ndescription: Look\n---\nReview $1 closely.")


def put_command(folder: Path, name: str, text: str) -> None:
    """Write a command of a workspace."""
    commands = folder / ".palimpsest/commands"
    commands.mkdir(parents=True, exist_ok=True)
    (commands / f"{name}.md").write_text(text)


def texts_of(row: Message) -> list[str]:
    """Return a message's texts, block by block."""
    blocks = message_store.to_engine(row).blocks
    return [block.text for block in blocks if isinstance(block, condense.TextBlock)]


def sent(standin: Standin) -> str:
    """Return the newest request as it went out."""
    return standin.requests[-1].raw.decode()


@EVERY_DOOR
async def test_a_command_and_a_path_go_with_the_message(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """As blocks after the words, which stay as they were typed; the page shows both as chips."""
    anthropic_standin.reply("Fine.")
    await tell(page, "/review a.py with @a.py")
    row = await said(conversation)
    assert texts_of(row) == ["/review a.py with @a.py", REVIEW, FILE]
    assert '<command name=\\"review\\">' in sent(anthropic_standin)
    assert '<file name=\\"a.py\\">' in sent(anthropic_standin)
    assert "beside" not in sent(anthropic_standin)
    assert anthropic_standin.problems == []
    (shown,) = (one["html"] for one in page.frames if one.get("id") == f"message-{row.seq}")
    assert shown.count('<details class="note attached">') == 2
    assert "Review a.py closely." in shown
    await conversation.arefresh_from_db()
    assert conversation.title == "/review a.py with @a.py"


async def test_an_unknown_command_is_refused_until_it_is_said_to_be_text(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """In a sentence, with the nonce, so that the page keeps the words; nothing is stored."""
    anthropic_standin.reply("Fine.")
    unknown = "There is no command "
    for words, reason in {
        "/frobnicate a.py": "/frobnicate. ",
        "/hlep": "/hlep, but there is /help.",
        "/compact the port": "/compact, but there is /condense.",
    }.items():
        nonce = await page.say(words)
        refusal = await page.until("refused")
        assert (refusal["nonce"], refusal["unclear"]) == (nonce, True)
        assert refusal["reason"].startswith(unknown + reason)
    await page.say("@../secret")
    refusal = await page.until("refused")
    assert refusal["unclear"]
    assert "outside the workspace" in refusal["reason"]
    await page.say("/clear")
    refusal = await page.until("refused")
    assert (refusal["unclear"], "Reload" in refusal["reason"]) == (False, True)
    await page.say("/help me")
    refusal = await page.until("refused")
    assert (refusal["unclear"], "takes nothing" in refusal["reason"]) == (True, True)
    assert not await conversation.messages.aexists()
    await tell(page, "/reveiw @../secret @a.py", literal=True, nonce=nonce)
    assert texts_of(await said(conversation)) == ["/reveiw @../secret @a.py", FILE]


async def test_a_path_that_is_not_there_is_sent_and_said(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """To who sent it, once it was taken; nothing is said where it was meant as text."""
    anthropic_standin.then(Reply("Fine."), Reply("Fine."))
    await tell(page, "Ask @nobody about @a.py", literal=True)
    await page.say("Ask @nope about @a.py")
    told = await page.until("noted")
    assert told["text"] == "The workspace has no @nope: it was sent as text."
    await page.until_idle()
    assert len([frame for frame in page.frames if frame["type"] == "noted"]) == 1
    assert texts_of(await said(conversation))[0] == "Ask @nope about @a.py"


async def test_what_waits_in_the_queue_is_expanded_when_it_is_sent(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """As things are then; what is not understood is said when it is put there."""
    gate = Gate()
    anthropic_standin.then(Reply("One.", gate=gate), Reply("Two."))
    await page.begin("Hello")
    await page.say("/reveiw it", queued=True)
    assert (await page.until("refused"))["unclear"]
    nonce = await page.say("/review b.py @a.py", queued=True)
    await page.until("message.accepted", nonce=nonce)
    (workspace_of(conversation) / "a.py").write_text("changed\n")
    gate.open()
    for _ in range(2):
        await page.until_idle()
    words, command, file = texts_of(await said(conversation))
    assert (words, "Review b.py closely." in command) == ("/review b.py @a.py", True)
    assert "changed" in file


async def test_nothing_stands_in_for_what_is_built_in_or_the_owners_own(
    conversation: Conversation, alice: User, bob: User, anthropic_standin: Standin, page: Page
) -> None:
    """A workspace's files may come from anywhere; somebody else's commands are not there."""
    anthropic_standin.reply("Fine.")
    await SavedCommand.objects.acreate(owner=bob, name="theirs", text="Bob's")
    for name in ("clear", "mine"):
        put_command(workspace_of(conversation), name, "Evil.")
    await SavedCommand.objects.acreate(owner=alice, name="mine", text="Good: $ARGUMENTS")
    assert "Reload" in await page.refusal("/clear")
    assert "no command /theirs" in await page.refusal("/theirs")
    await tell(page, "/mine now")
    assert texts_of(await said(conversation))[1:] == [
        '<command name="mine">\nGood: now\n</command>'
    ]
