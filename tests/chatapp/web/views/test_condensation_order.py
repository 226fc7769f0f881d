"""The list of condensations in another order, its net total, and how much of it is read."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.conversations import conversations
from chatapp.models import Conversation, Profile
from chatapp.web.views.condensations import CONDENSATIONS_PER_PAGE
from tests.chatapp.browsers import HTMX
from tests.chatapp.web.views.attempts import attempt

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def ids(page: str) -> list[str]:
    """Return the attempts of a page in its order."""
    return re.findall(r'href="/c/[^"]+#condensation-([^"]+)"', page)


def read_all(browser: Client, query: str) -> list[str]:
    """Return the attempts of all pages in their order."""
    page = browser.get(f"{reverse('condensations')}?{query}").text
    found = ids(page)
    while more := re.findall(r'hx-get="([^"]*after=[^"]*)"', page):
        page = browser.get(unescape(more[0]), headers=HTMX).text
        found += ids(page)
    return found


def taking(seconds: float, start: datetime = NOON) -> dict[str, datetime]:
    """Return the moments of an attempt that took so long."""
    return {"started_at": start, "finished_at": start + timedelta(seconds=seconds)}


@pytest.mark.parametrize(
    ("sort", "found"), [("", "cba"), ("saved", "bac"), ("cost", "acb"), ("duration", "cab")]
)
def test_the_list_and_its_downloads_come_in_the_order_that_was_chosen(
    browser: Client, conversation: Conversation, sort: str, found: str
) -> None:
    """The largest first; what is not known comes last."""
    attempt(conversation, model="a", cost=Decimal("0.5"), **taking(2))
    later = NOON + timedelta(hours=1)
    attempt(conversation, model="b", cost=None, tokens_after=9, started_at=later)
    failed = {"status": "failed", "tokens_after": None}
    attempt(conversation, model="c", **failed, **taking(3, NOON + timedelta(hours=2)))
    listed = browser.get(reverse("condensations"), {"sort": sort, "as": "json"}).json()
    assert "".join(one["model"] for one in listed) == found
    assert read_all(browser, f"sort={sort}") == [one["id"] for one in listed]


@pytest.mark.parametrize("sort", ["", "saved", "duration"])
def test_pages_in_any_order_leave_no_gap_and_repeat_nothing(
    browser: Client, conversation: Conversation, sort: str
) -> None:
    """However many attempts are equal in what it is sorted by; a narrowed list stays so."""
    attempt(conversation, strategy="fresh_start")
    made = [
        attempt(
            conversation,
            strategy="ledger",
            tokens_after=number % 3,
            cost=Decimal(number % 4) / 3,
            **taking(number % 5 / 7, NOON + timedelta(seconds=number % 2)),
        )
        for number in range(2 * CONDENSATIONS_PER_PAGE + 7)
    ]
    found = read_all(browser, f"sort={sort}&strategy=ledger")
    assert sorted(found) == sorted(str(one.pk) for one in made)


def test_the_order_stays_when_the_list_is_narrowed(
    browser: Client, conversation: Conversation
) -> None:
    """In the links of outcomes, and in the form."""
    attempt(conversation)
    attempt(conversation, status="failed")
    page = browser.get(reverse("condensations"), {"sort": "cost"}).text
    assert 'href="/condensations/?sort=cost&amp;outcome=failed"' in page
    assert '<input type="hidden" name="sort" value="cost">' in page


def test_the_net_is_what_the_tokens_saved_are_worth_less_what_was_spent(
    browser: Client, conversation: Conversation, bob: User
) -> None:
    """At the input price of the profile that reads less; failed attempts are paid as well."""
    Profile.objects.update(price_input=Decimal(5))
    # Others may call theirs the same.
    theirs = conversations.start_conversation(owner=bob).profile
    assert theirs is not None
    Profile.objects.filter(pk=theirs.pk).update(price_input=Decimal(500))
    attempt(conversation)
    attempt(conversation, status="failed", tokens_after=None)
    attempt(conversation, profile_name="Gone", cost=None)
    page = browser.get(reverse("condensations"))
    net = page.context["net"]
    assert (net.worth, net.left) == (Decimal("0.04"), Decimal("0.032"))
    assert "≈ $0.032" in page.text
    assert "<dt>Tokens saved</dt><dd>≈ 16,000</dd>" in page.text
    assert "8,000 saved tokens are not included" in page.text
    assert "1 attempt is not included" in page.text


def test_a_loss_is_not_called_a_saving(browser: Client, conversation: Conversation) -> None:
    """What nobody is charged for is worth nothing."""
    attempt(conversation)
    page = browser.get(reverse("condensations")).text
    assert "Net saving" not in page
    assert re.search(r"Net cost</dt>\s*<dd [^>]*>\s*≈ \$0\.0040\s*</dd>", page)
