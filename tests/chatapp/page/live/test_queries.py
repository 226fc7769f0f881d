"""How often a page, a socket and a turn ask the database: each has a number that it keeps."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.test import Client
from django.urls import reverse

from chatapp.models import Conversation, DraftPiece
from chatapp.page.transcript import row_builder
from chatapp.web import consumers
from tests.chatapp.conftest import Say
from tests.chatapp.queries import Statements, statements
from tests.chatapp.sockets import Page, open_page

# What runs does so in other threads than the test's, which see only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)

# One each of those to connect and open is for MCP servers, for the tools that members may use, and
# for what runs, perhaps elsewhere. Three of those to open are for what is pinned, for folders, and
# for whether there is an archive, one for the to-do list beside the chat, and one for limits.
TO_CONNECT, TO_OPEN, TO_SHOW_A_ROW = 9, 21, 1
# Until the model is asked, and then: what PostgreSQL gets at once counts once. Two of those to ask,
# and one to answer, are for what pages are shown; two are for the limits of a user.
# Three transactions have a BEGIN and a COMMIT besides there.
TO_ASK, TO_ANSWER = {"sqlite": (18, 9), "postgresql": (10, 3)}[connection.vendor]

# What stores drafts.
WITH_TIME = ("INTO chatapp_draftpiece", "SET tokens_input = %s, tokens_output = %s, tokens_c")
# Locks, a clock and the index of words, which SQLite has without a statement.
OF_POSTGRESQL = ("SELECT clock_timestamp", "SELECT set_config")


@pytest.fixture(autouse=True)
def _no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be looked for because seconds have passed: a test may take longer."""
    monkeypatch.setattr(consumers, "LOOK_AGAIN", 3_600)


@pytest.fixture
def session(browser: Client) -> SessionStore:
    """The session of Alice's browser."""
    return SessionStore(browser.cookies["sessionid"].value)


def asked(sent: Statements) -> list[str]:
    """Leave out the drafts, which come with time instead."""
    return [sql for sql in sent if not any(sign in sql for sign in (*WITH_TIME, *OF_POSTGRESQL))]


async def test_an_answer_is_rendered_once(page: Page) -> None:
    """With the turn's end, which says what it took; until then its words are there."""
    await page.ask("Hi")
    told = [frame.get("id") or frame["type"] for frame in page.frames]
    assert told.count("message-2") == 1
    assert told.index("message-2") == len(told) - 1 - told[::-1].index("streaming") + 1
    # Where a message is short, the bar is the same until the end: at once, and later.
    assert told.count("panel.changed") == 1
    for words, panels in (("Hi", 1), ("word " * 5_000, 2)):
        page.frames.clear()
        await page.ask(words)
        told = [frame["type"] for frame in page.frames]
        assert told.count("panel.changed") == panels, words[:9]


async def test_a_turn_takes_so_many_queries_however_long_the_conversation_is(
    conversation: Conversation, alice: User, session: SessionStore, say: Say
) -> None:
    """From the socket to the end, a page watching; what is stored costs nothing."""
    async with open_page(conversation, alice, session) as page:
        await page.ask("Hi")
        with statements() as few:
            await page.ask("Hi")
        for number in range(20):
            await sync_to_async(say)("user" if number % 2 else "assistant", "More")
        with statements() as sent:
            await page.ask("Hi")
    told = "\n".join(sent)
    assert len(asked(sent)) <= TO_ASK + TO_ANSWER, told
    assert set(asked(sent)) <= set(asked(few))
    (call,) = [at for at, sql in enumerate(asked(sent)) if 'INTO "chatapp_manifest' in sql]
    assert call < TO_ASK, told
    assert not await DraftPiece.objects.aexists()


async def test_a_socket_takes_so_many_queries_until_it_shows_the_present(
    conversation: Conversation, alice: User
) -> None:
    """With a turn behind it, and none that runs."""
    async with open_page(conversation, alice) as page:
        await page.ask("Hi")
    with statements() as sent:
        async with open_page(conversation, alice):
            pass
    assert len(asked(sent)) <= TO_CONNECT, "\n".join(sent)


def test_opening_a_conversation_takes_so_many_queries(
    conversation: Conversation, browser: Client, say: Say
) -> None:
    """Its page with everything on it."""
    for number in range(20):
        say("user" if number % 2 else "assistant", "More")
    # The visit is noted.
    browser.get(reverse("manifest"))
    with statements() as sent:
        browser.get(reverse("chat", args=[conversation.pk]))
    assert len(sent) <= TO_OPEN, "\n".join(sent)


def test_a_live_row_takes_so_many_queries(conversation: Conversation, say: Say) -> None:
    """While its tools run, each change of it."""
    say("user", "Hello")
    with statements() as sent:
        row_builder.live_row(conversation, 1, {})
    assert len(sent) <= TO_SHOW_A_ROW, "\n".join(sent)
