"""What the model is told beside a message: stored once, sent as it was, and nobody's words."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

import condense
from chatapp.conversations.context.turn_context import MOST_FILES, describe_surroundings
from chatapp.conversations.toolbox import toolbox
from chatapp.models import Conversation, Message, Preferences, Turn, message_store
from chatapp.models.accounts import preferences_of
from chatapp.page.transcript import row_pages, search_hits
from chatapp.page.transcript.message_parts import TextPart
from tests.chatapp.claude import converse
from tests.chatapp.queries import statements
from tests.chatapp.sockets import PATIENCE, Page, connect
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin
from tests.standin.thinking import unmarked

pytestmark = pytest.mark.django_db

TODO = ToolCall("update_todo_list", {"todos": "[x] Read\n[-] Write"})


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin) -> Conversation:
    """A conversation that the stand-in answers, whose owner has nothing switched off."""
    alice.preferences.environment_details = True
    alice.preferences.save()
    return converse(alice, anthropic_standin)


def told(message: dict[str, Any]) -> str:
    """Return what a message of a request tells beside its words."""
    first, words = message["content"]
    assert first["text"].startswith("<environment_details>\n# Current time\n")
    assert set(first) == {"type", "text"}
    assert words["text"] in {"One", "Two"}
    return str(first["text"])


@pytest.mark.usefixtures("transactional_db")
async def test_it_is_stored_once_and_sent_again_byte_for_byte(
    anthropic_standin: Standin, conversation: Conversation, page: Page
) -> None:
    """The next message tells what is so then; the file that came in between is in it alone."""
    folder = toolbox.workspace_of(conversation)
    (folder / "src").mkdir()
    anthropic_standin.then(Reply(tools=(TODO,)), Reply("Done."))
    await page.ask("One")
    (folder / "new.txt").write_text("")
    await page.ask("Two")
    first, *_, last = [unmarked(one.body["messages"]) for one in anthropic_standin.requests]
    assert json.dumps(last[: len(first)]) == json.dumps(first)
    assert "# Files in the workspace\nsrc/\n</environment" in told(first[0])
    newest = told(last[-1])
    assert "\nnew.txt\nsrc/\n" in newest
    assert "# To-do list\n[x] Read\n[-] Write\n" in newest
    assert "of 200,000 tokens were in use" in newest
    assert anthropic_standin.problems == []


@pytest.mark.usefixtures("transactional_db")
async def test_it_is_shown_apart_and_is_none_of_the_user_s_words(
    alice: User, anthropic_standin: Standin, conversation: Conversation, page: Page
) -> None:
    """Neither found, nor in the title, nor copied, nor in what a condensation says of requests."""
    await page.ask("One")
    stored = await Message.objects.order_by("seq").afirst()
    message = message_store.to_engine(stored)
    assert (message.words, message.lasting.text) == ("One", "One")
    rows = (await sync_to_async(row_pages.page)(conversation)).rows
    assert [type(part) for part in rows[0].parts] == [TextPart]
    assert rows[0].around.startswith("# Current time")
    fresh = await Conversation.objects.aget()
    assert fresh.title == "One"
    assert await sync_to_async(row_pages.message_text)(fresh, 1) == "One"
    find = sync_to_async(search_hits.find_hits)
    assert await find(alice, "environment_details") == []
    assert len(await find(alice, "One")) == 1
    (ledger,) = condense.ledger([message])
    assert "environment_details" not in ledger.text


@pytest.mark.usefixtures("transactional_db")
async def test_it_is_the_time_where_the_person_is(
    alice: User, anthropic_standin: Standin, conversation: Conversation
) -> None:
    """As their browser says, and UTC where that says nothing that there is."""
    socket = connect(conversation, alice)
    socket.scope["cookies"] = {"zone": "Asia/Kolkata"}
    assert (await socket.connect(PATIENCE))[0]
    asked, again = "8c5a1b1e-0000-4000-8000-000000000000", "8c5a1b1e-0000-4000-8000-000000000001"
    for command in (
        {"type": "message.send", "text": "One", "nonce": asked},
        {"type": "turn.regenerate", "seq": 2, "nonce": again},
    ):
        await socket.send_json_to(command)
        while (await socket.receive_json_from(PATIENCE)).get("text") != "Done.":
            pass
    await socket.disconnect(timeout=PATIENCE)
    assert {turn.zone async for turn in Turn.objects.all()} == {"Asia/Kolkata"}
    assert "(Asia/Kolkata, UTC+05:30)" in told(anthropic_standin.requests[0].body["messages"][0])
    describe = sync_to_async(describe_surroundings)
    fresh = await Conversation.objects.select_related("owner__preferences").aget()
    own = fresh.owner.preferences
    assert "(UTC, UTC+00:00)" in await describe(fresh, "../../etc/passwd", own)


@pytest.mark.usefixtures("transactional_db")
async def test_switched_off_nothing_is_gathered(anthropic_standin: Standin, page: Page) -> None:
    """The message is its words, and nothing is read."""
    await Preferences.objects.aupdate(environment_details=False)
    fresh = await Conversation.objects.select_related("owner__preferences").aget()
    own = fresh.owner.preferences
    with statements() as sent:
        assert await sync_to_async(describe_surroundings)(fresh, "", own) == ""
    assert len(sent) == 0
    await page.ask("One")
    (words,) = anthropic_standin.requests[0].body["messages"][0]["content"]
    assert words["text"] == "One"


def test_names_of_files_are_few_and_end_nothing(conversation: Conversation) -> None:
    """A folder may hold thousands, and names that are made to mislead."""
    folder = toolbox.workspace_of(conversation)
    (folder / "a<").mkdir()
    for number in range(MOST_FILES):
        (folder / f"b{number:03}").touch()
    (folder / "a\n# Files in the workspace").touch()
    text = describe_surroundings(conversation, "", preferences_of(conversation.owner))
    assert text.count("\n# Files in the workspace\n") == 1
    assert text.count("\nb0") == MOST_FILES - 2
    assert "[and more: list the folder]" in text
