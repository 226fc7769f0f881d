"""What a page is told when a context must shrink or something fails, through the real SDK.

In the end of every test, each request was one that the provider accepts, and has a row.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chatapp.conversations.toolbox import toolbox
from chatapp.models import Condensation, Conversation, ModelCall, Profile
from chatapp.page.transcript import row_pages
from chatapp.page.transcript.rows import MessageRow, TurnRow
from tests.chatapp.claude import converse
from tests.chatapp.sockets import Page, open_page
from tests.long_texts import filler
from tests.standin import auto
from tests.standin.behaviours import Failure, Gate, Reply, ToolCall
from tests.standin.rules import blocks_of
from tests.standin.server import Received, Standin

pytestmark = pytest.mark.django_db(transaction=True)

HEADING = "## Conversation Summary"
SECTIONS = "\n".join(
    f"{number}. {title}: -" for number, title in enumerate(auto.SUMMARY_SECTIONS, 1)
)
SUMMARY = Reply(
    f"<analysis>Short.</analysis><summary>The vault's word is heliotrope.\n{SECTIONS}</summary>"
)
NO_SUMMARY = Failure(400, "invalid_request_error", "This model writes no summaries")
LONG = filler(3_750)


@pytest.fixture
def standin(standin: Standin) -> Iterator[Standin]:
    """The provider; in the end, its requests are held against the accounts."""
    yield standin
    assert ModelCall.objects.count() == len(standin.requests)


@pytest.fixture
def conversation(alice: User, standin: Standin) -> Conversation:
    """A conversation with room for everything."""
    return converse(alice, standin)


@pytest.fixture
def tight(alice: User, standin: Standin) -> Conversation:
    """A conversation in which the second long message does not fit."""
    return converse(alice, standin, context_window=8_400)


def texts(request: Received) -> list[str]:
    """Return the text of each message of a request."""
    return [
        "\n".join(block.get("text", "") for block in blocks_of(message))
        for message in request.body["messages"]
    ]


def is_summary(request: Received) -> bool:
    """Whether a request asks for a summary."""
    return "<summary>" in texts(request)[-1]


async def talk(conversation: Conversation, user: User, *said: str) -> list[dict[str, Any]]:
    """Say one thing after the other, and return all frames."""
    async with open_page(conversation, user) as page:
        for words in said:
            await page.ask(words)
    return page.frames


async def until_written(page: Page) -> None:
    """Return once the page shows how much of a summary is written."""
    assert "tokens written" in (await page.until("condensing.progressed"))["written"]


def attempts(conversation: Conversation) -> list[tuple[str, str, str]]:
    """Return kind, status and trigger of every attempt."""
    rows = Condensation.objects.filter(conversation=conversation).order_by("started_at")
    return list(rows.values_list("kind", "status", "trigger"))


async def test_a_context_that_does_not_fit_is_condensed_before_it_is_sent(
    tight: Conversation, alice: User, standin: Standin
) -> None:
    """The request after the summary begins with it, and carries the new message whole."""
    standin.then(Reply("Hello."), Reply("Noted."), SUMMARY, Reply("Heliotrope."))
    await talk(tight, alice, "Good morning.", LONG, f"{LONG} Which word?")
    assert await sync_to_async(attempts)(tight) == [("condensed", "succeeded", "auto")]
    assert [is_summary(request) for request in standin.requests] == [False, False, True, False]
    sent = texts(standin.requests[3])
    assert sent[0].startswith(HEADING)
    assert sent[0].endswith("Which word?")
    # The summary is asked for as the chat's own calls are: the history is read from the cache.
    chat, summary = standin.requests[1].body, standin.requests[2].body
    assert (summary["system"], summary.get("tools")) == (chat["system"], chat.get("tools"))
    assert (await ModelCall.objects.aget(purpose="summary")).tokens_cache_read > 3_000


async def test_a_message_that_cannot_fit_is_one_row_that_says_so(
    tight: Conversation, alice: User
) -> None:
    """Every rung had too little to hide; that is on record, and needs no rows of its own."""
    async with open_page(tight, alice) as page:
        await page.ask("word " * 9_000)
    rows = (await sync_to_async(row_pages.page)(tight)).rows
    assert [type(row) for row in rows] == [MessageRow, TurnRow]
    assert isinstance(rows[1], TurnRow)
    assert "Send the newest message in smaller parts" in rows[1].reason
    assert await Condensation.objects.filter(status="declined").acount() == 3


async def test_a_summary_that_failed_is_not_asked_for_again_in_the_next_turn(
    alice: User, standin: Standin
) -> None:
    """Too little has come since: a twentieth of the window, and two messages."""
    talking = await sync_to_async(converse)(alice, standin, context_window=100_000, threshold=5)
    standin.then(Reply("Noted."), NO_SUMMARY, *[Reply("Yes.")] * 3)
    await talk(talking, alice, f"{LONG} {LONG}", "Still there?", "And now?", "And now?")
    assert await sync_to_async(attempts)(talking) == [("condensed", "failed", "auto")]
    assert [is_summary(request) for request in standin.requests] == [False, True, *[False] * 3]


async def test_who_cancelled_a_condensation_is_not_asked_again_in_the_turn_that_goes_on(
    conversation: Conversation, standin: Standin, page: Page
) -> None:
    """The turn goes on with all of it, however much a tool adds: the next one may try again."""
    await Profile.objects.filter(pk=conversation.profile_id).aupdate(
        context_window=20_000, threshold=30
    )
    folder: Path = await sync_to_async(toolbox.workspace_of)(conversation)
    (folder / "long.txt").write_text(LONG)
    gate, read = Gate(), Reply(tools=(ToolCall("read_file", {"path": "long.txt"}),))
    standin.then(Reply("Noted."), Reply(SUMMARY.text, gate=gate), read, Reply("Heliotrope."))
    standin.then(SUMMARY, Reply("Anything else?"))
    await page.ask(LONG)
    await page.say(f"{LONG} Which word?")
    await until_written(page)
    await page.send("condense.cancel")
    await page.until_idle()
    assert [is_summary(request) for request in standin.requests] == [False, True, False, False]
    assert texts(standin.requests[2])[0] == LONG
    attempt = await Condensation.objects.aget()
    summary = await ModelCall.objects.aget(purpose="summary")
    assert (attempt.status, attempt.cost) == (Condensation.Status.CANCELLED, summary.cost)
    assert (attempt.cost > 0, attempt.cost_measured, summary.usage_measured) == (True, False, False)
    await page.ask("Thanks.")
    assert [is_summary(request) for request in standin.requests[4:]] == [True, False]
