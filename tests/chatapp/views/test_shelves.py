"""Where conversations are found: pinned, in folders, in the archive; nothing gets lost."""

import re
from html import unescape
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.conversations import conversations
from chatapp.models import Conversation, Folder
from tests.chatapp.queries import statements

HTMX = {"HX-Request": "true"}


def converse(owner: User, *titles: str) -> list[Conversation]:
    """Store conversations of these titles, the last one written in last."""
    return [conversations.start_conversation(owner=owner, title=title) for title in titles]


def titles(browser: Client, **asked: str) -> list[str]:
    """Return what the list shows, in its order: headings, folders and conversations."""
    page = browser.get(reverse("search"), asked, headers=HTMX).text
    found = re.findall(
        r'<h2 class="day">(.*?)<|class="(?:conversation|folder)-title"[^>]*>(.*?)<', page
    )
    return [f"# {day}" if day else unescape(title) for day, title in found]


def put(browser: Client, conversation: Conversation, action: str, **more: object) -> int:
    """Do something with a conversation as the dialog does."""
    answer = browser.post(
        reverse("shelve", args=[conversation.pk]), {"action": action, **more}, headers=HTMX
    )
    return answer.status_code


def test_what_is_pinned_stands_first_until_it_is_not(browser: Client, alice: User) -> None:
    """In the order in which it was pinned, and nowhere else."""
    first, second, _third = converse(alice, "First", "Second", "Third")
    assert put(browser, second, "burn") == 422
    assert put(browser, second, "pin") == 204
    put(browser, first, "pin")
    assert titles(browser) == ["# Pinned", "Second", "First", "# Today", "Third"]
    put(browser, second, "unpin")
    assert titles(browser) == ["# Pinned", "First", "# Today", "Third", "Second"]


def test_the_archive_is_shown_on_request_and_searched(browser: Client, alice: User) -> None:
    """What is in it is out of the list, pinned or not, and opens as ever; an empty one is none."""
    first, _second = converse(alice, "Trieste", "Trier")
    put(browser, first, "pin")
    put(browser, first, "archive")
    assert titles(browser) == ["# Today", "Trier", "Archive"]
    assert titles(browser, shelf="archive") == ["Trieste"]
    assert titles(browser, q="tri") == ["# Today", "Trier", "Trieste"]
    assert "Archived" in browser.get(reverse("search"), {"q": "trieste"}, headers=HTMX).text
    assert browser.get(reverse("chat", args=[first.pk])).status_code == 200
    put(browser, first, "unarchive")
    assert titles(browser) == ["# Pinned", "Trieste", "# Today", "Trier"]


def test_a_folder_is_made_by_its_name_and_holds_what_is_moved_there(
    browser: Client, alice: User
) -> None:
    """The same name, however it is written, is the same folder."""
    first, second, third = converse(alice, "First", "Second", "Third")
    put(browser, first, "move", named="  Work ")
    put(browser, second, "move", named="work")
    folder = Folder.objects.get()
    assert folder.name == "Work"
    assert titles(browser) == ["Work", "# Today", "Third"]
    assert titles(browser, shelf=str(folder.pk)) == ["Second", "First"]
    put(browser, third, "move", folder=folder.pk)
    put(browser, first, "move", folder="")
    put(browser, second, "archive")
    assert titles(browser) == ["Work", "# Today", "First", "Archive"]
    assert titles(browser, shelf=str(folder.pk)) == ["Third"]
    shown = browser.get(reverse("search"), {"current": str(third.pk)}, headers=HTMX).text
    assert re.search(r'data-folder="\d+" open hx-get="[^"]*" hx-trigger="load"', shown)


def test_a_folder_is_renamed_and_removed_without_its_conversations(
    browser: Client, alice: User
) -> None:
    """What was in it is in the list again."""
    first, second = converse(alice, "First", "Second")
    put(browser, first, "move", named="Work")
    put(browser, second, "move", named="Play")
    work = Folder.objects.get(name="Work")
    address = reverse("change_folder", args=[work.pk])
    assert 'value="Work"' in browser.get(address).text
    assert browser.post(address, {"name": "PLAY"}, headers=HTMX).status_code == 422
    assert browser.post(address, {"name": " "}, headers=HTMX).status_code == 422
    assert browser.post(address, {"name": "x" * 61}, headers=HTMX).status_code == 422
    assert browser.post(address, {"name": "Office"}, headers=HTMX).status_code == 204
    assert titles(browser) == ["Office", "Play"]
    browser.post(address, {"remove": "1"})
    assert titles(browser) == ["Play", "# Today", "First"]
    assert Conversation.objects.count() == 2


def test_nobody_puts_anything_on_another_s_shelf(browser: Client, alice: User, bob: User) -> None:
    """Neither a conversation nor a folder of Bob's is Alice's to see or change."""
    (his,) = converse(bob, "His")
    (hers,) = converse(alice, "Hers")
    conversations.move_conversation(conversation=his, folder=None, named="Secret")
    folder = Folder.objects.get()
    assert put(browser, his, "archive") == 404
    assert put(browser, hers, "move", folder=folder.pk) == 404
    assert browser.get(reverse("change_folder", args=[folder.pk])).status_code == 404
    assert (
        browser.post(reverse("change_folder", args=[folder.pk]), {"remove": 1}).status_code == 404
    )
    assert titles(browser, shelf=str(folder.pk)) == []
    assert "Secret" not in browser.get(reverse("shelve", args=[hers.pk])).text
    put(browser, hers, "move", named="Secret")
    assert Folder.objects.count() == 2


@pytest.mark.parametrize("shelf", ["x", "-1", "9" * 30, "archive'"])
def test_a_shelf_that_there_is_not_is_empty(browser: Client, alice: User, shelf: str) -> None:
    """Whatever an address asks for."""
    converse(alice, "First")
    assert titles(browser, shelf=shelf) == []


def test_the_pages_of_a_shelf_follow_each_other(browser: Client, alice: User) -> None:
    """Each with as many queries, by an index that has what is listed and nothing else."""
    made = converse(alice, *[f"Talk {number}" for number in range(95)])
    conversations.move_conversation(conversation=made[0], folder=None, named="Work")
    folder = Folder.objects.get()
    Conversation.objects.update(folder=folder)
    seen: list[str] = []
    after, counts = "", []
    for _page in range(3):
        asked = {"shelf": str(folder.pk), "after": after}
        with statements() as sent:
            page = browser.get(reverse("search"), asked, headers=HTMX).text
        counts.append(len([*sent]))
        seen += re.findall(r'class="conversation-title"[^>]*>(.*?)<', page)
        assert (f"shelf={folder.pk}" in page) == ("after=" in page)
        after = unquote(page.partition("after=")[2].partition("&")[0])
    assert seen == [f"Talk {number}" for number in range(94, -1, -1)]
    assert len(set(counts)) == 1
    listed = Conversation.objects.owned_by(alice).present().loose()
    assert "conversation_shelf" in listed.explain()
