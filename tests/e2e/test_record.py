"""The record of a condensation as a proof: originals, summary and chain."""

import re

from playwright.sync_api import expect

from tests.e2e.accessibility import problems
from tests.e2e.conftest import OpenPage


def test_a_sentence_of_the_summary_leads_to_the_messages_it_rests_on(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """By pointer and by keyboard, and back; what no message says has a word for it.

    The record of all conversations is a table that is verified on request.
    """
    page = open_page(addresses["proof"])
    page.get_by_role("article", name="Context condensed").get_by_role("button", name="More").click()
    page.get_by_role("link", name="Details").click()
    figures = page.locator(".record-figures")
    for figure in ("7,912 → 2,321 tokens", "2 tool results hidden", "$0.0321", "By you"):
        expect(figures).to_contain_text(figure)
    said, none = (page.locator(".sentence").nth(number) for number in (0, 1))
    original = page.locator(".original", has_text="Move the billing database (212 GB)").first
    expect(none).to_contain_text("not in the originals")
    expect(said).not_to_have_class(re.compile("unsupported"))
    said.hover()
    expect(original).to_have_class(re.compile("is-lit"))
    none.hover()
    expect(original).not_to_have_class(re.compile("is-lit"))
    page.get_by_role("link", name="Source: message 1", exact=True).first.focus()
    expect(original).to_have_class(re.compile("is-lit"))
    page.keyboard.press("Enter")
    expect(original).to_be_focused()
    original.get_by_text("1 sentence of the summary rests on this").click()
    original.get_by_role("link", name="Move the billing database").click()
    expect(said).to_be_in_viewport()
    # The others come as one reads on.
    page.locator(".originals").get_by_text("more").scroll_into_view_if_needed()
    expect(page.get_by_text("Question 39: is the copy done?")).to_be_visible()
    assert problems(page) == []
    page.goto("/condensations/audit/")
    expect(page.get_by_role("columnheader")).to_have_count(6)
    page.get_by_role("link", name="Verify").click()
    expect(page.get_by_text("Record damaged")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export signed record").click()
    assert "signature" in download.value.path().read_text()
    assert problems(page) == []


def test_what_was_hidden_opens_in_place(open_page: OpenPage, addresses: dict[str, str]) -> None:
    """Calls are one line that names their files; what else there is comes when it is asked for."""
    page = open_page(addresses["proof"])
    row = page.get_by_role("article", name="Context condensed")
    row.get_by_role("button", name="View").click()
    row.get_by_text("What was hidden").click()
    hidden = row.locator(".originals")
    hidden.get_by_text("Move the billing database (212 GB) to eu-west-1.").first.click()
    expect(hidden.locator("strong", has_text="billing")).to_be_visible()
    expect(hidden.locator('[data-tool="read_file"]')).to_have_count(2)
    expect(hidden.get_by_text("api.md", exact=True)).to_be_hidden()
    hidden.get_by_role("button", name="Read 2 files").click()
    hidden.get_by_text("api.md", exact=True).click()
    expect(hidden.get_by_text("The port of api.md is 5433")).to_be_visible()
    hidden.get_by_role("button", name="15 more").click()
    expect(hidden.get_by_text("Question 39: is the copy done?").first).to_be_visible()
    row.get_by_text("Prompt", exact=True).click()
    expect(row.get_by_role("heading", name="What to keep")).to_be_visible()
    assert problems(page, 360) == []


def test_the_history_shows_what_was_saved_and_spent(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """As a strip of days and as a table; chips choose by cause, and Costs is in the sidebar."""
    page = open_page("/condensations/")
    expect(page.get_by_role("img", name="the last 30 days")).to_be_visible()
    page.get_by_text("Show the days as a table").click()
    expect(page.get_by_role("table")).to_contain_text("$0.")
    page.get_by_role("link", name="By you", exact=True).click()
    expect(page.locator(".attempt").first).to_contain_text("by you")
    expect(page.get_by_text("automatic · limit")).to_have_count(0)
    assert problems(page) == []
    page.goto(addresses["course"])
    expect(page.get_by_text("The dashed line marks the size at which the newest")).to_be_visible()
    expect(page.locator("title", has_text="Condensation 1: 172,340 → ≈ 9,120")).to_have_count(1)
    page.get_by_role("link", name="Costs", exact=True).click()
    expect(page.get_by_role("heading", name="By conversation")).to_be_visible()
