"""A condensation beside what it hid, and other settings tried on the same conversation."""

import re

from playwright.sync_api import expect

from tests.e2e.accessibility import problems
from tests.e2e.conftest import OpenPage
from tests.e2e.server import SETTINGS, Desk


def test_what_was_condensed_is_compared_and_other_settings_are_tried(
    open_page: OpenPage, addresses: dict[str, str], desk: Desk
) -> None:
    """Facts lead to their messages; a model is asked once its price is known; one is used."""
    page = open_page(addresses["compared"])
    chat = re.sub("condensations/.*", "", addresses["compared"])
    expect(page.get_by_text("Generation 2")).to_be_visible()
    expect(page.get_by_text("+ Part 1 is done.")).to_be_visible()
    page.get_by_text("What you asked to be kept to").click()
    page.get_by_role("link", name="You must never touch file_7.py.", exact=True).click()
    expect(page.locator("li:target")).to_contain_text("You must never touch file_7.py.")
    assert problems(page, 360) == []
    page.goto(chat)
    page.get_by_role("button", name="Keep especially…").click()
    expect(page.locator("#keep")).to_contain_text("It costs")
    page.goto(f"{chat}what-if/")
    page.get_by_role("checkbox", name="fresh start").check()
    page.get_by_label("Thresholds (%)").fill("50, 100")
    page.get_by_role("button", name="Compare").click()
    ledger = page.get_by_role("article", name="ledger")
    expect(ledger).to_contain_text("stand in the originals")
    summary = page.get_by_role("article", name="fresh start")
    summary.get_by_role("button", name="Ask it, for").click()
    expect(summary).to_contain_text("predicted")
    assert problems(page) == []
    ledger.get_by_role("button", name="Use this from now on: ledger").first.click()
    expect(page.get_by_text("Nothing was condensed.")).to_be_visible()
    page.goto("/settings/")
    expect(page.get_by_role("radio", name="ledger, without a model")).to_be_checked()
    expect(page.get_by_role("spinbutton", name="Threshold (%)").first).to_have_value("50")
    desk.post("/settings/", **SETTINGS)
