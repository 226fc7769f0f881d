"""From the first page to a condensation, with no key and nothing set up."""

from playwright.sync_api import expect

from tests.e2e.chat import figures
from tests.e2e.conftest import OpenPage


def test_a_first_visit_leads_to_a_condensation(open_page: OpenPage) -> None:
    """Without a key, and in less time than it takes to read about it."""
    visitor = open_page()
    expect(visitor.get_by_role("heading", name="Three things to try")).to_be_visible()
    visitor.get_by_role("button", name="See a condensation").click()
    log = visitor.get_by_role("log", name="Conversation")
    row = log.get_by_role("article", name="Context condensed").first
    expect(row).to_be_attached()
    assert figures(row)[1] < figures(row)[0]
    expect(visitor.get_by_role("status").filter(has_text="Done.")).to_be_visible()
    expect(row).to_have_count(1)
    # The tour ends with the fold in view.
    expect(row).to_be_in_viewport()
    row.get_by_role("button", name="View").click()
    expect(row.get_by_text("Primary Request and Intent", exact=True)).to_be_in_viewport()
    row.get_by_role("button", name="Undo condensation").click()
    expect(row).to_contain_text("Undone")
