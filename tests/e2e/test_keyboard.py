"""Everything in a conversation works from the keyboard, and the page never runs away."""

import re

from playwright.sync_api import Page, Route, expect

from tests.e2e.accessibility import complaints
from tests.e2e.chat import texts
from tests.e2e.conftest import OpenChat
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

# Notes what is put where screen readers are told of it.
HEAR = """() => {
    window.heard = [];
    const note = ({ addedNodes }) => [...addedNodes].map((one) =>
        window.heard.push(one.textContent.trim().replace(/\\s+/g, " ")));
    new MutationObserver((all) => all.map(note)).observe(
        document.getElementById("heard"), { childList: true });
}"""

# Safari ends the composition before the key that ended it. Returns whether nothing takes that key.
COMPOSE = """(box) => {
    const said = { bubbles: true, cancelable: true };
    box.dispatchEvent(new CompositionEvent("compositionstart", said));
    box.dispatchEvent(new CompositionEvent("compositionend", said));
    return box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, ...said }));
}"""


def test_enter_sends_and_shift_enter_starts_a_line(open_chat: OpenChat, standin: Standin) -> None:
    """The focus stays in the composer through the whole turn, and the answer is read out.

    That is each paragraph once, code by its language, and nothing of a page that is opened.
    The Enter of an input method does not send. A question mark lists the shortcuts unless it is
    typed; Esc gives the focus back.
    """
    chat, gate = open_chat(), Gate()
    answer = "Two lines, I see.\n\n- One\n- Two\n\n```py\nx = 1\n```\n\nThat is all."
    standin.reply(answer, thinking="Two?\n\nTwo.", gate=gate)
    chat.page.evaluate(HEAR)
    expect(chat.box).to_be_focused()
    chat.page.keyboard.type("One")
    chat.page.keyboard.press("Shift+Enter")
    chat.page.keyboard.type("Two")
    assert chat.box.evaluate(COMPOSE)
    expect(chat.box).to_have_value("One\nTwo")
    chat.page.keyboard.press("Enter")
    expect(chat.stop).to_be_visible()
    expect(chat.box).to_be_focused()
    expect(chat.box).to_have_value("")
    gate.open()
    chat.finished()
    expect(chat.box).to_be_focused()
    assert texts(standin.requests[0].body) == ["One\nTwo"]
    expect(chat.rows("Agent")).to_contain_text("That is all.")
    said = ["Two lines, I see.", "One Two", "Code: py", "That is all."]
    assert chat.page.evaluate("heard") == said
    chat.open()
    assert chat.page.locator("#heard").text_content() == ""
    chat.box.press("?")
    expect(chat.box).to_have_value("?")
    chat.button("Condense context").focus()
    chat.page.keyboard.press("?")
    dialog = chat.page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Start a new line")
    chat.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(chat.button("Condense context")).to_be_focused()


def test_escape_stops_the_agent_and_arrow_up_edits_the_last_message(
    open_chat: OpenChat, standin: Standin
) -> None:
    """From the composer, where the focus is and comes back to; Enter sends the edit.

    Meanwhile the rows are shown anew, as something is pinned in another tab.
    """
    chat, gate = open_chat(), Gate()
    standin.then(Reply("One two three four five six.", gate=gate), Reply("Hello, Grace."))
    chat.type("I am Ada.")
    expect(chat.rows("Agent")).to_contain_text("One two three")
    chat.page.keyboard.press("Escape")
    chat.finished("Stopped.")
    expect(chat.box).to_be_focused()
    assert complaints(chat.page) == []
    chat.page.keyboard.press("ArrowUp")
    edit = chat.page.get_by_role("textbox", name="Your edit")
    expect(edit).to_be_focused()
    edit.fill("I am Grace")
    other = chat.second()
    other.act(other.rows("You"), "Pin")
    expect(chat.log.get_by_text("Pinned: the model keeps")).to_be_visible()
    expect(edit).to_be_focused()
    chat.page.keyboard.type(".")
    chat.page.keyboard.press("Enter")
    chat.finished()
    expect(chat.rows("You").last).to_contain_text("I am Grace.")
    expect(chat.rows("Agent").last).to_contain_text("Hello, Grace.")
    expect(chat.box).to_be_focused()


def test_the_list_is_one_tab_stop_and_the_palette_finds_everything(first_page: Page) -> None:
    """Arrow keys move in the list, Shift F10 opens the menu of a conversation.

    In the palette, which is a dialog of its own, they choose, and Enter goes there: once what is
    typed was looked up, however soon it is pressed.
    """
    page = first_page
    stops = page.locator("#conversation-list").get_by_role("link")
    expect(stops.nth(2)).to_be_visible()
    page.locator("#conversation-list [tabindex='0']").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(stops.nth(1)).to_be_focused()
    expect(page.locator("#conversation-list [tabindex='0']")).to_have_count(1)
    page.keyboard.press("Shift+F10")
    expect(page.get_by_role("button", name="Rename…")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Conversations", exact=True)).to_be_focused()
    page.keyboard.press("Control+k")
    page.keyboard.type("the logbook")
    expect(page.get_by_role("option", name="The logbook").first).to_be_visible()
    assert complaints(page) == []
    page.get_by_role("combobox", name="Go to, or do").fill("con")
    chosen = page.get_by_role("listbox").get_by_role("option", selected=True)
    expect(page.get_by_role("group", name="Pages").get_by_role("option")).to_have_count(3)
    while chosen.inner_text() != "Conversations":
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/conversations/$"))
    page.wait_for_load_state()
    page.keyboard.press("Control+k")
    expect(chosen).to_have_text("New conversation")
    page.keyboard.type("costs")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/costs/$"))


def test_who_writes_on_a_phone_sees_the_button_that_sends(open_chat: OpenChat) -> None:
    """Above the keyboard, which leaves a window of a few lines, however many are written."""
    chat = open_chat()
    chat.page.set_viewport_size({"width": 360, "height": 300})
    chat.box.fill("One")
    expect(chat.send).to_be_in_viewport(ratio=1)
    chat.box.fill("More\n" * 12)
    expect(chat.send).to_be_in_viewport(ratio=1)


LISTED = """<ul class="conversations"><li class="conversation" data-row="{0}">
<a href="/{0}">{0}</a></li></ul>"""
MORE = """<div class="more"><button type="button" hx-get="/search/?after=one"
hx-target="closest .more" hx-swap="outerHTML">Show more</button></div>"""


def test_a_list_that_was_made_longer_stays_so_and_keeps_the_place_of_the_keys(
    first_page: Page,
) -> None:
    """It has one stop for the tab key, and is fetched anew with as many as it shows."""
    page, asked = first_page, list[str]()

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        later = "after=" in asked[-1]
        html = LISTED.format("later") if later else LISTED.format("first") + MORE
        route.fulfill(body=html, content_type="text/html")

    def tell() -> None:
        page.evaluate("htmx.trigger(document.body, 'list-changed', { told: true })")

    page.route(re.compile("/search/"), answer)
    tell()
    links = page.get_by_label("Latest conversations").get_by_role("link")
    page.get_by_role("button", name="Show more").press("Enter")
    expect(links.first).to_be_focused()
    links.first.press("ArrowDown")
    expect(links.last).to_be_focused()
    expect(page.locator("#conversation-list [tabindex='0']")).to_have_text("later")
    with page.expect_response(re.compile("shown=2")):
        tell()
