"""A budget is said to be near, stops what runs, and is raised where the page says."""

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import complaints
from tests.e2e.conftest import OpenChat
from tests.e2e.words import long
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin


def set_budget(page: Page, chat: str, amount: str) -> None:
    """Set what a conversation may cost, as the menu leads to it."""
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("link", name="Tools and prompt").click()
    field = page.get_by_role("spinbutton", name="Budget (USD)")
    field.fill(amount)
    field.scroll_into_view_if_needed()
    assert complaints(page) == []
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(chat)


def test_a_budget_warns_stops_a_turn_and_is_raised(open_chat: OpenChat, standin: Standin) -> None:
    """The warning is beside the composer, the row says what to do, and Continue goes on."""
    chat = open_chat()
    standin.then(Reply("Hello."), Reply("Look.", tools=[ToolCall("list_files")]), Reply("Done."))
    chat.ask(long("Numbers.", times=16))
    page = chat.page
    set_budget(page, chat.url, "0.13")
    warning = page.get_by_text("of this conversation's budget is spent")
    expect(warning).to_be_visible()
    assert complaints(page) == []
    chat.meter.click()
    expect(page.get_by_text("Spent here")).to_be_visible()
    page.keyboard.press("Escape")
    chat.type(long("More.", times=4))
    chat.finished("Stopped.")
    row = chat.log.get_by_role("article", name="Stopped")
    expect(row).to_contain_text("The budget of this conversation is spent")
    assert complaints(page) == []
    chat.type("And now?")
    expect(page.get_by_text("until you raise it").last).to_be_visible()
    expect(chat.box).to_have_value("And now?")
    set_budget(page, chat.url, "5")
    chat.act(row, "Try again")
    chat.finished()
    expect(chat.rows("Agent").last).to_contain_text("Done.")
    expect(warning).to_be_hidden()
