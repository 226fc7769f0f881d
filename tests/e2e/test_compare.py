"""A condensation beside what it hid, and other settings tried on the same conversation."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenPage, Server
from tests.e2e.test_axe import complaints

pytestmark = pytest.mark.browser

# Prints the addresses of a second condensation's comparison, and of what else could be.
CONDENSED_TWICE = """
import condense
from django.contrib.auth.models import User
from chatapp import services
from chatapp.models import store
from tests.chatapp.conftest import summarise
from tests.records import append_many, put_on_record

talk = services.start_conversation(owner=User.objects.get(), title="Two summaries")
def say(words):
    texts = [f"You must never touch file_{n}.py. {words} " * 4 for n in range(40)]
    said = [(condense.Message("user", text), 60) for text in texts]
    replies = [(condense.Message("assistant", f"It took {n}.5 s. " * 20), 90) for n in range(40)]
    append_many(talk.pk, [one for pair in zip(said, replies) for one in pair])
for number in range(2):
    say(f"Part {number}.")
    hidden = store.read_effective(talk.pk)
    made = summarise(talk)
    text = f"Nothing was touched. Part {number} is done."
    attempt = put_on_record(
        talk, message=made, at_seq=made.seq - 1, summary=text, messages_hidden=len(hidden),
        receipt=condense.receipt(hidden, text, searchable=False),
    )
say("Part 2.")
print(f"/c/{talk.pk}/condensations/{attempt.pk}/compare/ /c/{talk.pk}/what-if/ /c/{talk.pk}/")
"""


# Others find the settings as they were.
RESTORED = """
from chatapp.models import Preferences

Preferences.objects.update(strategy="", threshold=100)
"""


@pytest.fixture(scope="module")
def addresses(server: Server) -> Iterator[list[str]]:
    """Return where the condensation is compared, other settings are tried, and the chat."""
    yield server.run(CONDENSED_TWICE).split()
    server.run(RESTORED)


def fits(page: Page) -> bool:
    """Whether a page is accessible, and nothing scrolls sideways, on a phone and on a screen."""
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert complaints(page) == []
        if page.evaluate("document.documentElement.scrollWidth") > width:
            return False
    return True


def test_what_was_condensed_is_compared_and_other_settings_are_tried(
    open_page: OpenPage, addresses: list[str]
) -> None:
    """Facts lead to their messages; a model is asked once its price is known; one is used."""
    page = open_page(addresses[0])
    expect(page.get_by_text("Generation 2")).to_be_visible()
    expect(page.get_by_text("+ Part 1 is done.")).to_be_visible()
    page.get_by_text("What you asked to be kept to").click()
    page.get_by_role("link", name="You must never touch file_7.py.", exact=True).click()
    expect(page.locator("li:target")).to_contain_text("You must never touch file_7.py.")
    assert fits(page)
    page.goto(addresses[2])
    page.get_by_role("button", name="Keep especially…").click()
    expect(page.locator("#keep")).to_contain_text("It costs")
    page.goto(addresses[1])
    page.get_by_role("checkbox", name="fresh start").check()
    page.get_by_label("Thresholds (%)").fill("50, 100")
    page.get_by_role("button", name="Compare").click()
    ledger = page.get_by_role("article", name="ledger")
    expect(ledger).to_contain_text("stand in the originals")
    summary = page.get_by_role("article", name="fresh start")
    summary.get_by_role("button", name="Ask it, for").click()
    expect(summary).to_contain_text("predicted")
    assert fits(page)
    ledger.get_by_role("button", name="Use this from now on: ledger").first.click()
    expect(page.get_by_text("Nothing was condensed.")).to_be_visible()
    page.goto("/settings/")
    expect(page.get_by_role("radio", name="ledger, without a model")).to_be_checked()
    expect(page.get_by_role("spinbutton", name="Threshold (%)").first).to_have_value("50")
