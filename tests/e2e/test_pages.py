"""The pages in a real browser: what people do, by roles and names."""

import re
import uuid

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import complaints
from tests.e2e.chat import Chat
from tests.e2e.conftest import OpenPage
from tests.e2e.server import Desk
from tests.e2e.tabs import Tabs

# The tab's icon a browser asks for when it likes, which may be before or after a look.
LOADED = """["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
.map((one) => [new URL(one.name).pathname, one.encodedBodySize, one.transferSize])
.filter(([path]) => !path.includes("/favicon."))"""


def test_a_first_visit_loads_little_and_the_next_page_hardly_anything(open_page: OpenPage) -> None:
    """The page, a style, the scripts and the icons: compressed, and kept for good."""
    page = open_page(own=True)
    loaded = page.evaluate(LOADED)
    assert len(loaded) <= 9, loaded
    assert sum(size for _, size, _ in loaded) <= 52_000, loaded
    page.goto("/settings/?again")
    again = [name for name, _, transferred in page.evaluate(LOADED) if transferred]
    own = {f"/static/js/{one}" for one in ("settings", "prompt", "notify_switch")}
    assert [name for name in again if name.partition(".")[0] not in own] == ["/settings/"]


def test_numbers_and_times_are_written_as_the_reader_does(
    tabs: Tabs, desk: Desk, addresses: dict[str, str]
) -> None:
    """Also in what a page is sent, of which screen readers read the context bar."""
    desk.choose_default("Offline")
    page = tabs.open(locale="en-DE")
    page.goto(addresses["rows"])
    for figure in ("172.340 → 9.120", "0,0123\xa0$", "8,4 s"):
        expect(page.get_by_role("log")).to_contain_text(figure)
    moment = re.compile(r"\d\d? \w{3} \d{4}, \d\d:\d\d")
    expect(page.locator("#transcript .milestone-facts time").first).to_have_text(moment)
    chat = Chat(page, desk.new_conversation())
    chat.ask("Hello")
    read = r"[1-9]\.\d\d\d"
    expect(chat.meter).to_have_attribute("aria-valuetext", re.compile(f"{read} tokens used"))
    expect(chat.rows("Agent")).to_contain_text(re.compile(rf"Tokens in\s*{read}"))


def test_a_conversation_is_renamed_found_and_comes_back_when_deleted(first_page: Page) -> None:
    """Heading, tab and list follow at once, on other pages too; the notice has the way back.

    Each row of the list has the menu that the header has, of eight entries.
    """
    page, name = first_page, f"xyloph{uuid.uuid4().hex[:8]}"
    other = page.context.new_page()
    other.goto("/costs/")
    page.bring_to_front()
    page.get_by_role("textbox", name="Message").fill("Hello title")
    page.keyboard.press("Enter")
    expect(page).to_have_title(re.compile("^Hello title · Palimpsest"))
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(other.get_by_role("link", name="Hello title").first).to_be_visible()
    title = page.get_by_role("heading", level=1)
    page.get_by_role("button", name="Actions for Hello title").first.click()
    menu = (
        page.locator(".menu:popover-open")
        .get_by_role("button")
        .or_(page.locator(".menu:popover-open").get_by_role("link"))
    )
    expect(menu).to_have_count(8)
    expect(menu.first).to_be_focused()
    assert complaints(page) == []
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Title").fill(f"{name}one")
    page.keyboard.press("Enter")
    expect(title).to_have_text(f"{name}one")
    expect(page).to_have_title(f"{name}one · Palimpsest")
    expect(other.get_by_role("link", name=f"{name}one")).to_be_visible()
    page.get_by_role("searchbox").fill(name)
    expect(page.locator(".conversation")).to_have_count(1)
    page.get_by_role("button", name="More", exact=True).click()
    expect(menu).to_have_count(8)
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Undo").click()
    expect(title).to_have_text(f"{name}one")


def test_what_is_hidden_collapses_to_a_line_and_is_reached_from_the_summary(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """The line says how many there are, and brings them back; a link leads to the very message."""
    page = open_page(addresses["rows"])
    line = page.locator(".margin-line").first
    expect(line).to_contain_text(re.compile(r"\d+ messages?"))
    hidden = page.locator("#message-1")
    line.get_by_role("button", name="Collapse").click()
    expect(hidden).to_be_hidden()
    page.locator(".margin-line").first.get_by_role("button", name="Show").click()
    expect(hidden).to_be_visible()
    band = page.get_by_role("article", name="Context condensed").first
    band.get_by_role("button", name="View").click()
    band.get_by_text("What was hidden").click()
    band.locator("summary", has_text="Remove the copy").click()
    band.get_by_role("link", name="Show in the conversation").click()
    expect(page.get_by_role("article").filter(has_text="Remove the copy").first).to_be_focused()
    # The folded files are listed with their sizes, and what was left out with its reason.
    band.get_by_role("radio", name="What was hidden").focus()
    page.keyboard.press("ArrowRight")
    expect(band.get_by_role("radio", name="Files")).to_be_checked()
    folded = band.get_by_role("listitem").filter(has_text="src/parser.py")
    expect(folded).to_contain_text("3,410 characters")
    left_out = band.get_by_role("listitem").filter(has_text="notes.md")
    expect(left_out).to_contain_text("It is outside the workspace.")


def test_the_theme_is_remembered(first_page: Page) -> None:
    """In this browser, before the first paint."""
    page = first_page
    page.get_by_role("button", name="Theme of the system").click()
    page.get_by_role("button", name="Light theme").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_sidebar_is_a_drawer_on_a_phone(open_page: OpenPage) -> None:
    """Opened by a button, closed by Esc, which returns the focus."""
    page = open_page("/", width=360)
    link = page.get_by_role("link", name="Settings")
    expect(link).to_be_hidden()
    page.get_by_role("button", name="Sidebar").click()
    expect(link).to_be_visible()
    page.keyboard.press("Escape")
    expect(link).to_be_hidden()
    expect(page.get_by_role("button", name="Sidebar", exact=True)).to_be_focused()


def test_a_low_window_has_room_for_everything(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """A phone that lies on its side reaches the end of the sidebar.

    At four times its size, a conversation can be read beside what is written to it.
    """
    page = open_page("/")
    page.set_viewport_size({"width": 640, "height": 360})
    page.get_by_role("button", name="Sidebar").click()
    page.get_by_role("button", name="Sign out").hover()
    page.set_viewport_size({"width": 320, "height": 256})
    page.goto(addresses["history"])
    page.get_by_role("textbox", name="Message").fill("One line\n" * 20)
    assert page.evaluate("scroller.clientHeight") >= 128
    page.get_by_text("It says: land in sight.").hover()


def test_what_was_begun_on_the_first_page_is_there_after_a_look_elsewhere(
    first_page: Page,
) -> None:
    """Until it was sent."""
    page = first_page
    box = page.get_by_role("textbox", name="Message")
    box.fill("Begun here")
    for place in ("/settings/", "/"):
        page.goto(place)
    expect(box).to_have_value("Begun here")
    box.press("Enter")
    expect(page.get_by_role("article", name="You")).to_contain_text("Begun here")
    page.goto("/")
    expect(box).to_have_value("")
