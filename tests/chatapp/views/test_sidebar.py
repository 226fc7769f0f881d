"""The list of conversations beside every page: by day, page by page, found by title."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatapp.conversations import conversations
from chatapp.formats import ZONE_COOKIE
from chatapp.models import Conversation
from chatapp.views.sidebar import name_day

HTMX = {"HX-Request": "true"}
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
NAMED = [
    (timedelta(hours=-1), "Today"),
    (timedelta(hours=12), "Today"),
    (timedelta(hours=13), "Yesterday"),
    (timedelta(days=2), "Previous 7 days"),
    (timedelta(days=7), "Previous 7 days"),
    (timedelta(days=8), "Earlier"),
]


def converse(owner: User, title: str, *, days: int = 0) -> None:
    """Store a conversation that was last written in some days ago."""
    made = conversations.start_conversation(owner=owner, title=title)
    when = timezone.now() - timedelta(days=days)
    Conversation.objects.filter(pk=made.pk).update(updated_at=when)


def listed(browser: Client, address: str) -> list[str]:
    """Return headings, with "#" before them, and titles in their order."""
    page = browser.get(address, headers=HTMX).text
    found = re.findall(r'<(h2) class="day">(.*?)<|class="(c)[^"]*-title"[^>]*>(.*?)<', page)
    return [f"# {day}" if tag else unescape(title) for tag, day, _, title in found]


def next_page(browser: Client, address: str) -> str:
    """Return the address of the page that follows."""
    page = browser.get(address, headers=HTMX).text
    return f"{reverse('search')}?after={page.partition('after=')[2].partition('&')[0]}"


@pytest.mark.parametrize(("ago", "name"), NAMED)
def test_a_day_is_named_as_people_do(ago: timedelta, name: str) -> None:
    """By the calendar, not by hours; a clock that is ahead is no reason to be confused."""
    assert name_day(NOON - ago, now=NOON, zone=UTC) == name


def test_a_day_begins_at_the_readers_midnight() -> None:
    """The same moment is today in one zone and yesterday in another."""
    when, now = NOON - timedelta(hours=13), NOON
    assert name_day(when, now=now, zone=UTC) == "Yesterday"
    assert name_day(when, now=now, zone=ZoneInfo("Asia/Tokyo")) == "Today"


def test_conversations_are_listed_by_day(browser: Client, alice: User) -> None:
    """The latest first; a day without any has no heading, also among what was found."""
    for title, days in (("Oslo", 40), ("Rome", 3), ("Trieste", 0), ("Venice", 0), ("Bern", 9)):
        converse(alice, title, days=days)
    assert listed(browser, reverse("conversations")) == [
        *("# Today", "Venice", "Trieste"),
        *("# Previous 7 days", "Rome"),
        *("# Earlier", "Bern", "Oslo"),
    ]
    found = listed(browser, f"{reverse('search')}?q=er")
    assert found == ["# Earlier", "Bern"]


def test_the_next_page_goes_on_in_the_day_where_the_last_one_ended(
    browser: Client, alice: User
) -> None:
    """No heading comes twice, and no conversation is left out."""
    for number in range(45):
        converse(alice, f"Talk {number}", days=0 if number >= 3 else 20)
    first = listed(browser, reverse("search"))
    second = listed(browser, next_page(browser, reverse("search")))
    assert first == ["# Today", *(f"Talk {number}" for number in range(44, 4, -1))]
    assert second == ["Talk 4", "Talk 3", "# Earlier", "Talk 2", "Talk 1", "Talk 0"]


@pytest.mark.parametrize("zone", ["Europe/Oslo", "Nowhere/Else", "../../etc/passwd", "", "a\0b"])
def test_a_zone_that_does_not_exist_is_as_good_as_none(
    browser: Client, alice: User, zone: str
) -> None:
    """It comes from a cookie, which anybody can write."""
    browser.cookies[ZONE_COOKIE] = zone
    converse(alice, "Oslo")
    assert listed(browser, reverse("search")) == ["# Today", "Oslo"]


@pytest.mark.parametrize("cursor", ["x", "2026-03-10", "2026-03-10T12:00:00+00:00_x", "_"])
def test_a_malformed_cursor_is_the_first_page(browser: Client, alice: User, cursor: str) -> None:
    """It comes from a URL that anybody can type."""
    converse(alice, "Oslo")
    answer = listed(browser, f"{reverse('search')}?after={cursor.replace('+', '%2B')}")
    assert answer == ["# Today", "Oslo"]
