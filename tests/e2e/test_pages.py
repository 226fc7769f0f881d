"""The pages in a real browser: what people do, by roles and names."""

import re
import uuid

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenPage

pytestmark = pytest.mark.browser

PAGES = ["/", "/condensations/", "/profiles/", "/profiles/new/", "/settings/", "/mcp/", "/mcp/new/"]


def ask(page: Page, words: str) -> None:
    """Send a message from the first page and wait for the answer."""
    page.get_by_role("textbox", name="Message").fill(words)
    page.keyboard.press("Enter")
    expect(page.get_by_role("article", name="Agent").last).to_be_visible()
    expect(page.get_by_role("button", name="Send")).to_be_visible()


# The tab's icon a browser asks for when it likes, which may be before or after a look.
LOADED = """["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
.map((one) => [new URL(one.name).pathname, one.encodedBodySize, one.transferSize])
.filter(([path]) => !path.includes("/favicon."))"""


@pytest.mark.parametrize("path", PAGES)
def test_a_first_visit_loads_little_and_the_next_page_hardly_anything(
    open_page: OpenPage, path: str
) -> None:
    """The page, a style, the scripts and the icons: compressed, and kept for good."""
    page = open_page(path)
    loaded = page.evaluate(LOADED)
    assert len(loaded) <= 9, loaded
    # A page lists what its owner has, which says nothing of what every page takes.
    assert sum(size for _, size, _ in loaded[1:]) <= 45_000, loaded
    assert path != "/" or sum(size for _, size, _ in loaded) <= 52_000, loaded
    page.goto("/settings/?again")
    again = [name for name, _, transferred in page.evaluate(LOADED) if transferred]
    own = {"/static/js/settings", "/static/js/prompt"}
    assert [name for name in again if name.partition(".")[0] not in own] == ["/settings/"]


def test_nothing_scrolls_sideways_on_a_phone(open_page: OpenPage) -> None:
    """At 360 px, the narrowest there is."""
    page = open_page(width=360)
    for path in (*PAGES, "/costs/", "/api/docs"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path


def test_a_chat_does_not_scroll_sideways_either(open_page: OpenPage, long_chat: str) -> None:
    """Whatever its rows hold."""
    page = open_page(long_chat, width=360)
    page.evaluate(
        "for (const one of document.querySelectorAll('#transcript details')) one.open = 1"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("scroller.scrollWidth - scroller.clientWidth") == 0


def test_a_title_without_spaces_wraps_in_the_history_on_a_phone(open_page: OpenPage) -> None:
    """It is where a line says which conversation it is about."""
    page = open_page("/", width=360)
    title = "W" * 60
    ask(page, title)
    page.get_by_role("button", name="Condense context").click()
    expect(page.get_by_role("article", name=re.compile("^Cond|^Context"))).to_be_visible()
    page.goto("/condensations/")
    box = page.locator(".attempt-title", has_text=title).bounding_box()
    assert box
    assert box["x"] + box["width"] <= 360


def test_fields_and_the_buttons_beside_them_are_of_one_height(
    open_page: OpenPage, long_chat: str
) -> None:
    """Whatever a browser gives a date, a choice and a line of text."""
    page = open_page(long_chat)
    page.goto("/condensations/?text=copied")
    heights = page.locator(".narrowing-fields").evaluate(
        "form => [...form.querySelectorAll('input:not([type=hidden]), select, .button')]"
        ".map(one => one.offsetHeight)"
    )
    assert len(heights) > 7
    assert len(set(heights)) == 1, heights


def test_how_many_messages_to_keep_stands_below_the_strategy_it_belongs_to(
    open_page: OpenPage,
) -> None:
    """Below the last strategy it would read as a part of that one."""
    page = open_page("/settings/")
    above, below = (page.get_by_role("radio", name=name) for name in ("Keep recent", "Ledger"))
    above.check()
    rows = (above, page.get_by_label("Messages to keep"), below)
    boxes = [row.bounding_box() for row in rows]
    tops = [box["y"] for box in boxes if box]
    assert len(tops) == 3
    assert tops == sorted(tops)


def test_a_conversation_starts_on_the_first_page(page: Page) -> None:
    """And names itself after its first message."""
    ask(page, "Hello from the first page")
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello from the first page")
    expect(page.get_by_role("textbox", name="Message")).to_be_empty()
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()


def test_a_newcomer_sees_a_condensation(page: Page) -> None:
    """With one click, within a minute."""
    page.get_by_role("button", name="See a condensation").click()
    band = page.get_by_role("article", name="Context condensed").first
    band.wait_for()
    expect(band).to_contain_text(re.compile(r"[\d,]+ → [\d,]+ tokens"))


def test_a_draft_survives_a_reload(page: Page) -> None:
    """Until it is sent."""
    ask(page, "Hello draft")
    page.get_by_role("textbox", name="Message").fill("Half a thought")
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("Half a thought")


def test_shift_enter_starts_a_line(page: Page) -> None:
    """And sends nothing."""
    ask(page, "Hello lines")
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("one\ntwo")


def test_the_last_message_is_edited_in_place(page: Page) -> None:
    """With the arrow key; Esc leaves it as it was."""
    ask(page, "Hello with a tpyo")
    page.keyboard.press("ArrowUp")
    field = page.get_by_role("textbox", name="Your edit")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("article", name="You").last).to_contain_text("tpyo")
    page.keyboard.press("ArrowUp")
    field.fill("Hello without")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("article", name="You").last).to_contain_text("Hello without")
    expect(page.get_by_role("article", name="Version 1 of 2")).to_be_visible()


def test_a_rewind_says_what_it_hides_and_can_be_undone(page: Page) -> None:
    """In a dialog, and on the row that it leaves."""
    ask(page, "Hello rewind")
    page.get_by_role("article", name="You").hover()
    page.get_by_role("article", name="You").get_by_role("button", name="Rewind to here").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 messages")
    page.get_by_role("button", name="Rewind", exact=True).click()
    page.get_by_role("button", name="Undo rewind").click()
    expect(page.get_by_role("article", name="Rewound")).to_contain_text("Undone")
    expect(page.get_by_role("article", name="Agent")).to_be_visible()


def test_a_lost_connection_is_said_and_the_text_kept(page: Page) -> None:
    """Sent as soon as the server is back."""
    ask(page, "Hello offline")
    page.route_web_socket(re.compile("/ws/"), lambda socket: socket.close())
    page.reload()
    expect(page.get_by_text("Offline. Reconnecting…")).to_be_visible()
    page.get_by_role("textbox", name="Message").fill("Are you there?")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Not sent yet")).to_be_visible()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("Are you there?")


@pytest.mark.parametrize(
    ("code", "words"), [(4401, "Sign in again"), (4403, "You can't see this conversation")]
)
def test_a_connection_that_cannot_come_back_says_why(page: Page, code: int, words: str) -> None:
    """Instead of trying for ever."""
    ask(page, "Hello expired")
    page.route_web_socket(re.compile("/ws/"), lambda socket: socket.close(code=code))
    page.reload()
    expect(page.get_by_text(words)).to_be_visible()


def test_a_link_to_a_condensation_leads_to_it(open_page: OpenPage, long_chat: str) -> None:
    """From the history page into the transcript."""
    page = open_page(long_chat)
    page.get_by_role("link", name="Condensations").click()
    there = page.get_by_role("link", name="Context condensed in Every kind of row")
    line = page.get_by_role("listitem").filter(has_text="9,120").filter(has=there).first
    line.get_by_role("link", name="Every kind of row", exact=True).click()
    expect(page.get_by_role("article", name="Context condensed").first).to_be_in_viewport()
    expect(page.get_by_role("article", name="Context condensed").first).to_be_focused()


def test_hidden_messages_collapse_to_one_line(open_page: OpenPage, long_chat: str) -> None:
    """The line says how many there are, and brings them back."""
    page = open_page(long_chat)
    line = page.locator(".margin-line").first
    expect(line).to_contain_text(re.compile(r"\d+ messages?"))
    hidden = page.locator("#message-1")
    line.get_by_role("button", name="Collapse").click()
    expect(hidden).to_be_hidden()
    page.locator(".margin-line").first.get_by_role("button", name="Show").click()
    expect(hidden).to_be_visible()


def test_what_was_hidden_leads_into_the_transcript(open_page: OpenPage, long_chat: str) -> None:
    """To the very message."""
    page = open_page(long_chat)
    band = page.get_by_role("article", name="Context condensed").first
    band.get_by_text("Summary", exact=True).click()
    band.get_by_text("What was hidden").click()
    band.get_by_role("link", name="Remove the copy").click()
    expect(page.get_by_role("article").filter(has_text="Remove the copy").first).to_be_focused()


def test_the_folded_files_are_listed_with_what_was_left_out(
    open_page: OpenPage, long_chat: str
) -> None:
    """With their sizes, and each reason as a sentence; the tab is reached with the keyboard too."""
    page = open_page(long_chat)
    band = page.get_by_role("article", name="Context condensed")
    band.get_by_text("Summary", exact=True).click()
    band.get_by_role("radio", name="Prompt").focus()
    page.keyboard.press("ArrowRight")
    expect(band.get_by_role("radio", name="Files folded")).to_be_checked()
    folded = band.get_by_role("listitem").filter(has_text="src/parser.py")
    expect(folded).to_contain_text("3,410 characters")
    left_out = band.get_by_role("listitem").filter(has_text="notes.md")
    expect(left_out).to_contain_text("It is outside the workspace.")


def test_the_shortcuts_are_listed(open_page: OpenPage, long_chat: str) -> None:
    """With a question mark, outside of a text field."""
    page = open_page(long_chat)
    page.locator("#transcript").click(position={"x": 5, "y": 5})
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_the_theme_is_remembered(page: Page) -> None:
    """In this browser, before the first paint."""
    page.get_by_role("button", name="Theme of the system").click()
    page.get_by_role("button", name="Light theme").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_sidebar_finds_conversations_by_title(page: Page) -> None:
    """While one types."""
    name = f"xyloph{uuid.uuid4().hex[:8]}"
    ask(page, f"Hello {name}one")
    page.reload()
    page.get_by_role("searchbox").fill(name)
    expect(page.locator(".conversation")).to_have_count(1)


def test_a_deleted_conversation_comes_back(page: Page) -> None:
    """With the button on the notice."""
    ask(page, "Hello deleted")
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Delete conversation").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello deleted")


def test_slider_and_number_move_together(open_page: OpenPage) -> None:
    """And the effect is said at once, for every profile."""
    page = open_page("/settings/")
    page.get_by_role("spinbutton", name="Threshold (%)").fill("60")
    expect(page.get_by_role("slider", name="Threshold (%)")).to_have_value("60")
    effect = page.get_by_role("group", name="Offline").get_by_text("(60 % of the window")
    expect(effect).to_be_visible()
    page.get_by_role("slider", name="Threshold (%)").press("ArrowRight")
    expect(page.get_by_role("spinbutton", name="Threshold (%)")).to_have_value("61")
    page.get_by_role("group", name="Offline").get_by_label("Own value", exact=True).check()
    own = page.get_by_role("spinbutton", name="Own value for Offline")
    own.fill("30")
    expect(page.get_by_role("group", name="Offline").get_by_text("(30 % of")).to_be_visible()


def test_a_threshold_out_of_range_is_said_once(open_page: OpenPage) -> None:
    """While it is typed, and after it was refused; no effect is said of it."""
    page = open_page("/settings/")
    number = page.get_by_role("spinbutton", name="Threshold (%)")
    reason = page.get_by_text("Enter a number from 5 to 100.")
    for refused in (False, True):
        number.fill("200")
        if refused:
            page.get_by_role("button", name="Save").click()
            expect(page.locator(".errorlist")).to_be_visible()
            expect(page.get_by_text("There are unsaved changes.")).to_be_visible()
        box = page.locator(".field", has=number)
        expect(box.get_by_text("Enter a number from 5 to 100.")).to_have_count(1)
        expect(page.get_by_text(re.compile("less than or equal|Condenses at 200"))).to_have_count(0)
    number.fill("90")
    expect(reason).to_have_count(0)
    expect(page.get_by_text("Condenses at 90 % of the window")).to_be_visible()


def test_a_notice_covers_neither_save_nor_what_is_unsaved(open_page: OpenPage) -> None:
    """It stands below the header."""
    page = open_page("/settings/")
    page.get_by_role("button", name="Save").click()
    toast = page.locator(".toast", has_text="Settings saved.").bounding_box()
    bar = page.locator(".savebar").bounding_box()
    assert toast
    assert bar
    assert toast["y"] + toast["height"] <= bar["y"]


def test_times_and_numbers_are_written_in_the_pages_language(
    open_page: OpenPage, long_chat: str
) -> None:
    """Both alike, wherever the reader's browser comes from."""
    words = []
    for locale in ("en-US", "de-DE"):
        page = open_page(long_chat, locale=locale)
        band = page.get_by_role("article", name="Context condensed").first
        expect(band).to_contain_text("172,340 → 9,120 tokens")
        undone = page.get_by_role("article", name="Rewound").locator("time").first
        words.append(undone.text_content())
    assert words[0] == words[1]


def test_leaving_with_changes_asks(open_page: OpenPage) -> None:
    """And saving does not."""
    page = open_page("/settings/")
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_role("spinbutton", name="Steps per turn").fill("40")
    with page.expect_event("dialog"):
        page.get_by_role("link", name="Profiles").click(no_wait_after=True)
    assert asked == ["beforeunload"]
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Settings saved.")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Steps per turn")).to_have_value("40")
    assert asked == ["beforeunload"]


def test_the_prompt_shows_what_was_changed(open_page: OpenPage) -> None:
    """Against the default, which one button brings back."""
    page = open_page("/settings/")
    prompt = page.get_by_role("textbox", name="Condensing prompt")
    default = prompt.input_value()
    prompt.fill(default + "\nMention every file.")
    page.get_by_text("Changes from the default").first.click()
    expect(page.locator("ins")).to_have_text("+ Mention every file.")
    page.get_by_role("button", name="Reset to default").click()
    expect(prompt).to_have_value(default)
    expect(page.get_by_text("No changes")).to_be_visible()


def test_a_known_model_fills_in_its_limits(open_page: OpenPage) -> None:
    """And a profile for it can be saved as it is."""
    page = open_page("/profiles/new/")
    page.get_by_label("Model", exact=True).fill("claude-opus-5")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Claude Opus 5")
    expect(page.get_by_label("Output", exact=True)).to_have_value("25")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("“Claude Opus 5” was saved.")).to_be_visible()


def test_a_profile_asks_only_for_what_its_provider_needs(open_page: OpenPage) -> None:
    """A stand-in has neither key nor address; what a long prompt costs more is said."""
    page = open_page("/profiles/new/")
    provider, key = page.get_by_label("Provider"), page.get_by_label("API key")
    address = page.get_by_label("Base URL")
    expect(key).to_be_visible()
    expect(address).to_have_attribute("placeholder", "https://api.anthropic.com")
    provider.select_option("Offline")
    expect(key).to_be_hidden()
    expect(address).to_be_hidden()
    page.get_by_label("Model", exact=True).fill("claude-haiku-5-5")
    expect(provider).to_have_value("anthropic")
    expect(address).to_be_visible()
    expect(page.get_by_text("Above 100,000 tokens of prompt")).to_be_visible()
    page.get_by_label("Model", exact=True).fill("claude-opus-5-5")
    expect(page.get_by_text("Above 100,000 tokens of prompt")).to_be_hidden()


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


def test_a_phone_has_room_for_what_is_said(open_page: OpenPage) -> None:
    """A longer sentence takes the width that there is, and covers less of the page."""
    page = open_page("/", width=360)
    page.route("**/attachments/new/", lambda route: route.abort())
    page.locator("input[type=file]").set_input_files(
        {"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"}
    )
    toast = page.locator(".toast", has_text="server").bounding_box()
    assert toast
    assert toast["width"] > 320
