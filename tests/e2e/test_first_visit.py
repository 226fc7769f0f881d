"""From the first page to a condensation, with no key and nothing set up."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.e2e.chat import figures
from tests.e2e.conftest import OpenPage
from tests.e2e.server import serving
from tests.e2e.tabs import Tabs
from tests.first_start import FirstStart
from tests.standin.server import Standin


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
    expect(row.get_by_text("hidden from the model, not gone")).to_be_in_viewport()
    row.get_by_role("button", name="View").click()
    expect(row.get_by_text("Primary Request and Intent:", exact=True)).to_be_in_viewport()
    row.get_by_role("button", name="Undo condensation").click()
    expect(row).to_contain_text("Undone")
    expect(row).not_to_contain_text("hidden from the model, not gone")


def test_one_field_and_two_clicks_lead_to_an_answer_of_a_real_model(
    browser: Browser, first_start: FirstStart, standin: Standin, tmp_path: Path
) -> None:
    """The key is tested at once; a wrong one stays in its field, and so does what was written."""
    standin.key = "sk-right"
    first_start.copy(tmp_path / "data")
    with serving(tmp_path, ANTHROPIC_BASE_URL=standin.url) as server:
        tabs = Tabs(browser, server)
        page = tabs.page
        box, key = page.get_by_role("textbox", name="Message"), page.get_by_label("API key")
        connect = page.get_by_role("button", name="Connect")
        chosen = page.get_by_role("combobox", name="Answered by").locator("option:checked")
        expect(chosen).to_have_text("Offline")
        box.fill("Hello")
        key.fill("sk-wrong")
        connect.click()
        expect(page.get_by_role("alert")).to_contain_text("did not accept this key")
        expect(key).to_have_value("sk-wrong")
        page.reload()
        # Here the clicks and the fields are counted.
        key.fill("sk-right")
        connect.click()
        expect(chosen).to_have_text("Claude Opus 5.5")
        expect(box).to_be_focused()
        page.keyboard.type("Who answers?")
        page.get_by_role("button", name="Send").click()
        log = page.get_by_role("log", name="Conversation")
        expect(log.get_by_role("article", name="Agent")).to_contain_text("You said: Who answers?")
        assert standin.requests[-1].body["model"] == "claude-opus-5-5"
        assert not tabs.tidy()
