"""The list of one conversation's condensations, with the chart of its context."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import OpenPage, Server
from tests.e2e.test_axe import WIDTHS, complaints

pytestmark = pytest.mark.browser

# Prints the address of the list of a conversation that was condensed twice.
CONDENSED = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from chatapp import services
from chatapp.models import Condensation, ModelCall

talk = services.start_conversation(owner=User.objects.get(), title="Two drops")
start = timezone.now()
for number, tokens in enumerate([9, 60, 172, 0, 15, 90, 165, 0, 22, 40]):
    when = start + timedelta(minutes=number)
    if tokens:
        ModelCall.objects.create(
            conversation=talk, purpose="chat", profile_name="Offline",
            tokens_input=tokens * 1000, created_at=when,
        )
        continue
    Condensation.objects.create(
        conversation=talk, at_seq=1, status="succeeded", kind="condensed", strategy="ledger",
        trigger="auto", threshold=90, threshold_source="global", context_window=200_000,
        allowed=171_808, profile_name="Offline", model="offline", tokens_before=172_340,
        tokens_before_measured=True, tokens_after=9_120, cost="0.0123", started_at=when,
        finished_at=when + timedelta(seconds=8),
    )
print(f"/condensations/?conversation={talk.pk}&sort=cost")
"""


@pytest.fixture(scope="module")
def condensed(server: Server) -> str:
    """Return the address of the list of a conversation with two condensations."""
    return server.run(CONDENSED)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_chart_is_accessible_at_any_width(
    open_page: OpenPage, condensed: str, width: int
) -> None:
    """In either theme, with its tables open; nothing scrolls sideways."""
    page = open_page(condensed, width=width)
    expect(page.get_by_role("img", name="with 2 drops")).to_be_visible()
    page.get_by_text("The turns as a table").click()
    expect(page.get_by_role("row", name="165,000")).to_be_visible()
    assert complaints(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
