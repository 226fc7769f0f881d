"""Searching: beside every page for titles and messages, and in one conversation for places."""

from html import unescape

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, message_store
from chatapp.page.transcript.search_hits import BEST, PER_CONVERSATION
from tests.chatapp.browsers import HTMX
from tests.chatapp.conftest import Say, summarise


def search(browser: Client, words: str) -> str:
    """Return what the sidebar shows for some words."""
    answer = browser.get(reverse("search"), {"q": words}, headers=HTMX)
    assert answer.status_code == 200
    return unescape(answer.text)


def test_messages_are_found_beside_every_page(
    browser: Client, alice: User, conversation: Conversation, say: Say
) -> None:
    """Behind titles, each with an excerpt, and a link to its place that keeps the search."""
    conversations.rename_conversation(conversation=conversation, title="At sea")
    conversations.start_conversation(owner=alice, title="The compass rose")
    say("user", "Where is it?")
    say("assistant", "The <b>compass</b> lies under the plank.")
    page = search(browser, "compass")
    assert f'href="/c/{conversation.pk}/?at=2.2&q=compass"' in page
    assert "<mark>compass</mark>" in page
    assert page.index("The compass rose") < page.index("In messages") < page.index("At sea")
    assert '<p id="search-status" hx-swap-oob="innerHTML">1 title, 1 message</p>' in page
    raw = browser.get(reverse("search"), {"q": "compass"}, headers=HTMX).text
    assert "The &lt;b&gt;<mark>compass</mark>&lt;/b&gt; lies" in raw
    nothing = search(browser, "heliotrope")
    assert "Nothing says “<bdi>heliotrope</bdi>”." in nothing
    assert "In messages" not in nothing


def test_one_conversation_does_not_take_all_the_room(
    browser: Client, alice: User, say: Say
) -> None:
    """It shows its best, and says how many more there are; only so many are looked at."""
    for number in range(PER_CONVERSATION + 2):
        say("user", f"compass {number}")
    other = conversations.start_conversation(owner=alice, title="Another")
    message = condense.Message(role="user", content="a compass in a longer sentence")
    message_store.append_message(other.pk, message, tokens=1)
    page = search(browser, "compass")
    assert page.count("<mark>") == PER_CONVERSATION + 1
    assert "2 more here" in page
    assert f'href="/c/{other.pk}/?at=1.1&q=compass"' in page
    for number in range(BEST):
        say("user", f"compass {number}")
    page = search(browser, "compass")
    assert f"{BEST}+ messages" in page
    assert f"{BEST - PER_CONVERSATION}+ more here" in page


def test_a_search_that_looks_at_all_says_how_many_there_are(browser: Client, say: Say) -> None:
    """Also where these are just as many as it looks at."""
    for number in range(BEST):
        say("user", f"compass {number}")
    page = search(browser, "compass")
    assert f"{BEST} messages" in page
    assert f"{BEST - PER_CONVERSATION} more here" in page


def test_places_in_a_conversation_are_in_reading_order(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """A summary stands where what it hides ends; the expression marks the words on the page."""
    for number in range(4):
        say("user" if number % 2 == 0 else "assistant", f"what was said {number}")
    summarise(conversation, keep=2)
    answer = browser.get(f"/c/{conversation.pk}/find/", {"q": "was said"}).json()
    assert answer["places"] == ["1.1", "2.2", "2.5", "3.3", "4.4"]
    assert not answer["more"]
    assert "said" in answer["pattern"]
    nothing = browser.get(f"/c/{conversation.pk}/find/", {"q": " -- "}).json()
    assert nothing == {"problem": "", "places": [], "more": False, "pattern": ""}
