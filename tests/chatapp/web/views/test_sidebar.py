"""The list beside every page: by day, page by page, pinned, in folders and in the archive."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatapp.conversations import conversations
from chatapp.models import Conversation, Folder
from chatapp.project.sentences import ZONE_COOKIE
from chatapp.web.views.sidebar import name_day
from tests.chatapp.browsers import HTMX
from tests.chatapp.conftest import Say, summarise
from tests.chatapp.sockets import open_page
from tests.records import put_on_record

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
NAMED = [
    (timedelta(hours=-1), "Today"),
    (timedelta(hours=12), "Today"),
    (timedelta(hours=13), "Yesterday"),
    (timedelta(days=2), "Previous 7 days"),
    (timedelta(days=7), "Previous 7 days"),
    (timedelta(days=8), "Earlier"),
]
TODAY = ["# Today", "Oslo"]


def converse(owner: User, *titles: str, days: int = 0) -> list[Conversation]:
    """Store conversations that were written in some days ago, the last one last."""
    made = [conversations.start_conversation(owner=owner, title=title) for title in titles]
    if days:
        when = timezone.now() - timedelta(days=days)
        Conversation.objects.filter(pk__in=[one.pk for one in made]).update(updated_at=when)
    return made


def titles(browser: Client, address: str = "/search/", **asked: str) -> list[str]:
    """Return what the list shows, in its order: headings, folders and conversations."""
    page = browser.get(address, asked, headers=HTMX).text
    found = re.findall(
        r'<h2 class="day">(.*?)<|class="(?:conversation|folder)-title"[^>]*>(.*?)<', page
    )
    return [f"# {day}" if day else unescape(title) for day, title in found]


@pytest.mark.parametrize(("ago", "name"), NAMED)
def test_a_day_is_named_as_people_do(ago: timedelta, name: str) -> None:
    """By the reader's calendar, not by hours; a clock that is ahead is no reason to be confused."""
    assert name_day(NOON - ago, now=NOON, zone=UTC) == name
    elsewhere, shift = ZoneInfo("Asia/Tokyo"), timedelta(hours=9)
    assert name_day(NOON - ago - shift, now=NOON - shift, zone=elsewhere) == name


def test_conversations_are_listed_by_day(browser: Client, alice: User) -> None:
    """The latest first; a day without any has no heading, also among what was found."""
    for title, days in (("Oslo", 40), ("Rome", 3), ("Trieste", 0), ("Venice", 0), ("Bern", 9)):
        converse(alice, title, days=days)
    assert titles(browser, "/") == [
        *("# Today", "Venice", "Trieste"),
        *("# Previous 7 days", "Rome"),
        *("# Earlier", "Bern", "Oslo"),
    ]
    found = titles(browser, q="er")
    assert found == ["# Earlier", "Bern"]
    converse(alice, "Übersicht (neu)", days=9)
    assert titles(browser, q="übersicht (") == ["# Earlier", "Übersicht (neu)"]


def test_the_next_page_goes_on_in_the_day_where_the_last_one_ended(
    browser: Client, alice: User
) -> None:
    """No heading comes twice, and no conversation is left out; a folder has pages as well.

    A list that is fetched anew is as long as it was.

    An index has what is listed and nothing else.
    """
    made = [converse(alice, f"Talk {n}", days=0 if n >= 3 else 20)[0] for n in range(45)]

    def pages(**asked: str) -> tuple[list[str], list[str]]:
        page = browser.get(reverse("search"), asked, headers=HTMX).text
        assert all(f"{name}={value}" in page for name, value in asked.items())
        after = unquote(re.split('[&"]', page.partition("after=")[2])[0])
        return titles(browser, **asked), titles(browser, **asked, after=after)

    first, second = pages()
    assert first == ["# Today", *(f"Talk {number}" for number in range(44, 4, -1))]
    assert second == ["Talk 4", "Talk 3", "# Earlier", "Talk 2", "Talk 1", "Talk 0"]
    anew = [len(titles(browser, shown=shown)) for shown in ("", "3", "43", "45", "9" * 30, "x")]
    assert anew == [41, 41, 45, 47, 41, 41]
    conversations.move_conversation(conversation=made[0], folder=None, named="Work")
    folder = Folder.objects.get()
    Conversation.objects.update(folder=folder)
    first, second = pages(folder=str(folder.pk))
    assert first + second == [f"Talk {number}" for number in range(44, -1, -1)]
    # PostgreSQL chooses by how many rows there are, and here are few.
    if connection.vendor == "sqlite":
        listed = Conversation.objects.owned_by(alice).present().loose()
        assert "conversation_shelf" in listed.explain()


@pytest.mark.parametrize(
    ("zone", "asked", "shown"),
    [
        *((zone, {}, TODAY) for zone in ("Europe/Oslo", "Nowhere", "../../etc/passwd", "a\0b")),
        *(("", {"after": one}, TODAY) for one in ("x", "2026-03-10T12:00:00+00:00_x", "_")),
        *(("", {"folder": one}, []) for one in ("x", "-1", "9" * 30, "archive'")),
    ],
)
def test_whatever_an_address_or_a_cookie_asks_for_is_answered(
    browser: Client, alice: User, zone: str, asked: dict[str, str], shown: list[str]
) -> None:
    """Anybody can write it: an unknown zone or place is none, an unknown folder is empty."""
    browser.cookies[ZONE_COOKIE] = zone
    converse(alice, "Oslo")
    assert titles(browser, **asked) == shown


def put(browser: Client, conversation: Conversation, action: str, **more: object) -> int:
    """Do something with a conversation as the dialog does."""
    address = reverse("move", args=[conversation.pk])
    return browser.post(address, {"action": action, **more}, headers=HTMX).status_code


def test_what_is_pinned_stands_first_until_it_is_not(browser: Client, alice: User) -> None:
    """In the order in which it was pinned, and nowhere else."""
    first, second, _third = converse(alice, "First", "Second", "Third")
    assert put(browser, second, "burn") == 422
    assert put(browser, second, "pin") == 204
    put(browser, first, "pin")
    assert titles(browser) == ["# Pinned", "Second", "First", "# Today", "Third"]
    put(browser, second, "unpin")
    assert titles(browser) == ["# Pinned", "First", "# Today", "Third", "Second"]


def test_all_that_is_pinned_is_listed(browser: Client, alice: User) -> None:
    """However many they are: no other list has them."""
    now = timezone.now()
    pinned = [Conversation(owner=alice, title=f"Talk {n}", pinned_at=now) for n in range(101)]
    Conversation.objects.bulk_create(pinned)
    assert len(titles(browser)) == 1 + 101


def test_a_name_has_something_to_see(browser: Client, alice: User) -> None:
    """A conversation without could not be told from nothing, nor could a folder."""
    (first,) = converse(alice, "First")
    unseen = "\u200b\u2060"
    sent = browser.post(reverse("rename", args=[first.pk]), {"title": unseen}, headers=HTMX)
    assert (sent.status_code, put(browser, first, "move", named=unseen)) == (422, 422)
    assert titles(browser) == ["# Today", "First"]


def test_the_archive_is_shown_on_request_and_searched(browser: Client, alice: User) -> None:
    """What is in it is out of the list, pinned or not, and opens as ever; an empty one is none."""
    first, _second = converse(alice, "Trieste", "Trier")
    put(browser, first, "pin")
    put(browser, first, "archive")
    assert titles(browser) == ["# Today", "Trier", "Archive"]
    assert titles(browser, folder="archive") == ["Trieste"]
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
    put(browser, first, "move", named="  Öl und Gas ")
    put(browser, second, "move", named="öl und gas")
    folder = Folder.objects.get()
    assert folder.name == "Öl und Gas"
    assert (
        browser.post(
            reverse("change_folder", args=[folder.pk]), {"name": "Work"}, headers=HTMX
        ).status_code
        == 204
    )
    assert titles(browser) == ["Work", "# Today", "Third"]
    assert titles(browser, folder=str(folder.pk)) == ["Second", "First"]
    put(browser, third, "move", folder=folder.pk)
    put(browser, first, "move", folder="")
    put(browser, second, "archive")
    assert titles(browser) == ["Work", "# Today", "First", "Archive"]
    assert titles(browser, folder=str(folder.pk)) == ["Third"]
    shown = browser.get(reverse("search"), {"current": str(third.pk)}, headers=HTMX).text
    assert re.search(r'data-folder="\d+"\s+open\s+hx-get="[^"]*" hx-trigger="load"', shown)


def test_a_folder_is_renamed_and_removed_without_its_conversations(
    browser: Client, alice: User
) -> None:
    """What was in it is in the list again."""
    first, second = converse(alice, "First", "Second")
    put(browser, first, "move", named="Work")
    put(browser, second, "move", named="Pläne")
    work = Folder.objects.get(name="Work")
    address = reverse("change_folder", args=[work.pk])
    form = browser.get(address).text
    assert 'value="Work"' in form
    # Enter in the field presses the first button that sends the form.
    first_button = re.findall(r'<button(?! type="button")[^>]*>', form)[0]
    assert "remove" not in first_button
    for wrong in ("PLÄNE", " ", "x" * 61):
        assert browser.post(address, {"name": wrong}, headers=HTMX).status_code == 422
    assert browser.post(address, {"name": "Office"}, headers=HTMX).status_code == 204
    assert titles(browser) == ["Office", "Pläne"]
    browser.post(address, {"remove": "1"})
    assert titles(browser) == ["Pläne", "# Today", "First"]
    assert Conversation.objects.count() == 2


def test_nobody_puts_anything_on_another_s_folder(browser: Client, alice: User, bob: User) -> None:
    """Neither a conversation nor a folder of Bob's is Alice's to see or change."""
    (his,) = converse(bob, "His")
    (hers,) = converse(alice, "Hers")
    conversations.move_conversation(conversation=his, folder=None, named="Secret")
    folder = Folder.objects.get()
    assert put(browser, his, "archive") == 404
    assert put(browser, hers, "move", folder=folder.pk) == 404
    address = reverse("change_folder", args=[folder.pk])
    assert browser.get(address).status_code == 404
    assert browser.post(address, {"remove": 1}).status_code == 404
    assert titles(browser, folder=str(folder.pk)) == []
    assert "Secret" not in browser.get(reverse("move", args=[hers.pk])).text
    put(browser, hers, "move", named="Secret")
    assert Folder.objects.count() == 2


@pytest.mark.django_db(transaction=True)
async def test_what_is_back_or_branched_off_is_listed_on_other_pages(
    browser: Client, alice: User, conversation: Conversation, say: Say
) -> None:
    """As what is deleted leaves their lists."""
    for _ in range(3):
        await sync_to_async(say)("user", "Hello")
    made = await sync_to_async(summarise)(conversation, keep=1)
    attempt = await sync_to_async(put_on_record)(conversation, message=made, at_seq=made.seq)
    other = await sync_to_async(conversations.start_conversation)(owner=alice)
    pk = conversation.pk
    async with open_page(other, alice) as page:
        for name, place in (
            ("delete", [pk]),
            ("restore", [pk]),
            ("fork", [pk, 1]),
            ("branch_with_originals", [pk, attempt.pk]),
        ):
            await sync_to_async(browser.post)(reverse(name, args=place), headers=HTMX)
            await page.until("list.changed")
