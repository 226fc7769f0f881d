"""Facts that a summary lost, changed or kept, as a person reads them."""

from playwright.sync_api import expect

from tests.e2e.accessibility import complaints
from tests.e2e.conftest import OpenPage


def test_a_person_reads_which_facts_were_lost_and_takes_one_back(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """Quotes with their figure: lost and changed ones first, kept ones folded; the row says it."""
    page = open_page(addresses["facts"])
    row = page.get_by_role("log").get_by_role("article", name="Context condensed")
    expect(row).to_contain_text("1 of 9 facts kept; 6 lost, 1 changed, and 1 named only")
    row.get_by_role("button", name="View").click()
    row.get_by_text("Facts", exact=True).click()
    shown = row.locator('[data-panel="facts"]')
    expect(shown).to_contain_text("“Named only”: the name is there, the detail is not.")
    quotes = shown.locator(".fact:visible")
    expect(quotes.filter(has_text="lost").locator("b")).to_have_text(
        ["eu-west-1", "02:10", "$4,500", "host-17"]
    )
    expect(quotes.filter(has_text="named only")).to_contain_text("Marta decided it in OPS-2291")
    changed = quotes.filter(has_text="The summary says")
    expect(changed).to_contain_text("The nightly window is 30 minutes")
    expect(changed.locator(".fact-text")).to_contain_text("The nightly window is 40 minutes")
    # Where an old record has the bare name, its words are shown.
    expect(quotes.filter(has_text="in a hurry, use host-17 now")).to_be_visible()
    kept = shown.get_by_text("the billing database (212 GB) to eu-west-1", exact=True)
    expect(kept).to_be_hidden()
    shown.get_by_text("1 kept", exact=True).click()
    expect(kept).to_be_visible()
    assert complaints(page) == []
    changed.get_by_role("button", name="Restore").click()
    expect(row).to_contain_text("2 of 9 facts kept; 6 lost and 1 named only")
    expect(page.get_by_role("log")).to_contain_text("(names): The nightly window is 40 minutes")
    # The comparison and the record say the same.
    quotes.filter(has_text="OPS-2291").get_by_role("link", name="Source").click()
    originals = page.get_by_role("region", name="What was hidden")
    expect(originals).to_contain_text("lost")
    expect(page.locator("dd", has_text="2 of 9 facts kept; 6 lost")).to_be_visible()
