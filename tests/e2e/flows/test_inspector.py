"""The inspector: beside the chat, over it, and as pages; what a call was sent is one click away."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.e2e.flows.chat import Chat
from tests.e2e.flows.conftest import OpenChat
from tests.e2e.flows.words import PASSWORD, long, summary
from tests.standin.behaviours import Reply
from tests.standin.server import Standin


def complaints(page: Page) -> list[str]:
    """Return what axe finds wrong."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


def talk(open_chat: OpenChat, standin: Standin) -> Chat:
    """Have a conversation that was condensed, and went on."""
    chat = open_chat()
    standin.then(Reply("Noted."), summary())
    standin.reply("It is in the summary.")
    chat.ask(long(PASSWORD))
    chat.button("Condense context").click()
    expect(chat.rows("Context condensed")).to_be_visible()
    chat.finished()
    chat.ask("What was it?")
    return chat


def panel(chat: Chat) -> Locator:
    """The inspector of a chat."""
    return chat.page.get_by_role("complementary", name="Inspector")


def test_the_next_request_stands_beside_the_chat_and_follows_it(
    open_chat: OpenChat, standin: Standin
) -> None:
    """A third column; what is new appears when a turn ends, and what was open stays open."""
    chat = talk(open_chat, standin)
    chat.page.set_viewport_size({"width": 1600, "height": 900})
    opener, beside = chat.button("Inspector"), panel(chat)
    opener.click()
    expect(opener).to_have_attribute("aria-expanded", "true")
    expect(beside.get_by_role("heading", name="The next request")).to_be_visible()
    messages = beside.locator("[data-kind=newest]")
    messages.locator("summary").first.click()
    expect(messages).to_contain_text("What was it?")
    chat.ask("And now?")
    expect(messages).to_contain_text("And now?")
    expect(messages).to_have_attribute("open", "")
    expect(beside).to_contain_text("hidden")
    expect(chat.page.locator("#inspector-body")).not_to_have_attribute("aria-busy", "true")
    assert chat.page.evaluate("document.documentElement.scrollWidth") == 1600
    assert complaints(chat.page) == []
    beside.get_by_role("button", name="Close inspector").click()
    expect(beside).to_be_hidden()
    expect(opener).to_be_focused()


def test_what_the_model_saw_in_a_call_is_shown_in_its_place(
    open_chat: OpenChat, standin: Standin
) -> None:
    """From a message's figures; checked against its hash, compared, and to be copied."""
    chat = talk(open_chat, standin)
    chat.page.set_viewport_size({"width": 1600, "height": 900})
    chat.rows("Agent").last.locator(".figures-open").click()
    chat.page.get_by_role("link", name="What the model saw here").last.click()
    beside = panel(chat)
    expect(beside).to_contain_text("Matches its hash")
    expect(beside.get_by_role("heading", name="Beside the call before")).to_be_visible()
    beside.get_by_role("button", name="Next request").click()
    expect(beside.get_by_role("heading", name="The next request")).to_be_visible()


def test_on_a_phone_it_lies_over_the_chat(open_chat: OpenChat, standin: Standin) -> None:
    """Opened from the menu, closed with Esc; nothing scrolls sideways, on the pages neither."""
    chat = talk(open_chat, standin)
    page = chat.page
    page.set_viewport_size({"width": 360, "height": 780})
    chat.button("More").click()
    chat.button("What the model sees").click()
    beside = panel(chat)
    expect(beside.get_by_role("heading", name="The next request")).to_be_visible()
    assert complaints(page) == []
    page.keyboard.press("Escape")
    expect(beside).to_be_hidden()
    page.goto(f"{chat.url}inspector/")
    page.get_by_text("As a table").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert complaints(page) == []
    page.get_by_role("table").get_by_role("link").last.click()
    expect(page.get_by_text("Matches its hash")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert complaints(page) == []


@pytest.mark.parametrize("width", [1280, 360])
def test_a_condensation_has_a_page_of_its_own(
    open_chat: OpenChat, standin: Standin, width: int
) -> None:
    """What decided, what was tried, what was called and what it cost, what came of it."""
    chat = talk(open_chat, standin)
    chat.rows("Context condensed").get_by_role("link", name="Whole record").click()
    page = chat.page
    page.set_viewport_size({"width": width, "height": 780})
    for heading in ("Decision", "What was tried", "Calls and cost", "Summary", "Record"):
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
    expect(page.locator(".hidden-list")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert complaints(page) == []
    page.get_by_role("table").first.get_by_role("link").click()
    expect(page.get_by_text("Matches its hash")).to_be_visible()
    expect(page.get_by_role("heading", name="Asked for a summary")).to_be_visible()
