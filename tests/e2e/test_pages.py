"""The pages in a real browser: what people do, by roles and names."""

import re
import uuid

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenPage


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


@pytest.mark.parametrize("path", ["/", "/condensations/", "/profiles/new/"])
def test_a_first_visit_loads_little_and_the_next_page_hardly_anything(
    open_page: OpenPage, path: str
) -> None:
    """The page, a style, the scripts and the icons: compressed, and kept for good."""
    page = open_page(path, own=path == "/")
    loaded = page.evaluate(LOADED)
    assert len(loaded) <= 9, loaded
    # A page lists what its owner has, which says nothing of what every page takes.
    assert sum(size for _, size, _ in loaded[1:]) <= 45_000, loaded
    assert path != "/" or sum(size for _, size, _ in loaded) <= 52_000, loaded
    page.goto("/settings/?again")
    again = [name for name, _, transferred in page.evaluate(LOADED) if transferred]
    own = {"/static/js/settings", "/static/js/prompt"}
    assert [name for name in again if name.partition(".")[0] not in own] == ["/settings/"]


def test_a_conversation_starts_on_the_first_page_and_comes_back_when_deleted(
    first_page: Page,
) -> None:
    """It names itself after its first message; the notice has the button that undoes."""
    page = first_page
    ask(page, "Hello from the first page")
    title = page.get_by_role("heading", level=1)
    expect(title).to_have_text("Hello from the first page")
    expect(page.get_by_role("textbox", name="Message")).to_be_empty()
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="Delete conversation").click()
    page.get_by_role("button", name="Undo").click()
    expect(title).to_have_text("Hello from the first page")


def test_the_tabs_title_follows_a_rename_and_the_sidebar_finds_it(first_page: Page) -> None:
    """At once, as the heading and the list do."""
    page, name = first_page, f"xyloph{uuid.uuid4().hex[:8]}"
    page.get_by_role("textbox", name="Message").fill("Hello title")
    page.keyboard.press("Enter")
    expect(page).to_have_title(re.compile("^Hello title · Palimpsest"))
    page.get_by_role("heading", level=1).dblclick()
    page.get_by_role("textbox", name="Title").fill(f"{name}one")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{name}one")
    expect(page).to_have_title(f"{name}one · Palimpsest")
    page.get_by_role("searchbox").fill(name)
    expect(page.locator(".conversation")).to_have_count(1)


def test_a_title_wraps_or_can_be_read_at_any_width(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """Whole where there is room, and at least its first words elsewhere."""
    page = open_page(addresses["titled"])
    heading = page.get_by_role("heading", level=1)
    for width, seen in ((1440, 58), (900, 16), (360, 8)):
        page.set_viewport_size({"width": width, "height": 800})
        room = heading.evaluate(
            "one => (one.clientWidth - 12) / one.firstChild.parentElement.scrollWidth"
        )
        assert room * 60 >= seen, width


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
    band.get_by_text("Summary", exact=True).click()
    band.get_by_text("What was hidden").click()
    band.get_by_role("link", name="Remove the copy").click()
    expect(page.get_by_role("article").filter(has_text="Remove the copy").first).to_be_focused()
    # The folded files are listed with their sizes, and what was left out with its reason.
    band.get_by_role("radio", name="Prompt").focus()
    page.keyboard.press("ArrowRight")
    expect(band.get_by_role("radio", name="Files folded")).to_be_checked()
    folded = band.get_by_role("listitem").filter(has_text="src/parser.py")
    expect(folded).to_contain_text("3,410 characters")
    left_out = band.get_by_role("listitem").filter(has_text="notes.md")
    expect(left_out).to_contain_text("It is outside the workspace.")


def test_times_and_numbers_are_written_in_the_pages_language(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """Both alike, wherever the reader's browser comes from."""
    page = open_page(addresses["rows"], locale="de-DE")
    band = page.get_by_role("article", name="Context condensed").first
    expect(band).to_contain_text("172,340 → 9,120 tokens")
    undone = page.get_by_role("article", name="Rewound").locator("time").first
    expect(undone).to_have_text(re.compile(r"\d:\d\d [AP]M"))


def test_the_theme_is_remembered(first_page: Page) -> None:
    """In this browser, before the first paint."""
    page = first_page
    page.get_by_role("button", name="Theme of the system").click()
    page.get_by_role("button", name="Light theme").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_bar_stays_where_it_is_and_what_is_free_can_be_seen(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """Whatever is written beside it; the swatch's edge stands out from the panel by 3 : 1."""
    page = open_page(addresses["rows"])
    # In one go: what the page hears meanwhile may put another bar in its place.
    write = """(one, words) => {
        one.textContent = words;
        const place = document.querySelector("[role=meter]").getBoundingClientRect();
        return [place.x, place.width];
    }"""
    percent = page.locator(".context-percent")
    places = [percent.evaluate(write, it) for it in ("5 %", "≈ 5 %", "≈ < 1 %", "≈ 100 %")]
    assert places == [places[0]] * 4
    page.get_by_role("meter", name="Context window").click()
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert page.evaluate(LUMINANCE) >= 3


LUMINANCE = """
    () => {
        const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
        const light = (color) => {
            canvas.fillStyle = color;
            canvas.fillRect(0, 0, 1, 1);
            const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => {
                const s = c / 255;
                return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const swatch = getComputedStyle(document.querySelector("dl .swatch.seg-free"));
        const panel = getComputedStyle(document.querySelector(".context-panel"));
        const [one, two] = [light(swatch.borderTopColor), light(panel.backgroundColor)];
        return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    }
"""


def test_the_sidebar_is_a_drawer_on_a_phone(open_page: OpenPage) -> None:
    """Opened by a button, closed by Esc, which returns the focus; a notice takes the width."""
    page = open_page("/", width=360)
    link = page.get_by_role("link", name="Settings")
    expect(link).to_be_hidden()
    page.get_by_role("button", name="Sidebar").click()
    expect(link).to_be_visible()
    page.keyboard.press("Escape")
    expect(link).to_be_hidden()
    expect(page.get_by_role("button", name="Sidebar", exact=True)).to_be_focused()
    page.route("**/attachments/new/", lambda route: route.abort())
    page.locator("input[type=file]").set_input_files(
        {"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"}
    )
    toast = page.locator(".toast", has_text="server").bounding_box()
    assert toast
    assert toast["width"] > 320


# Gives each element the focus, and returns those whose ring an ancestor cuts off.
CLIPPED = """
    () => {
        const focusable = "a[href], button, input, select, textarea, summary, [tabindex='0']";
        const cut = [];
        for (const one of document.querySelectorAll(focusable)) {
            one.focus({ focusVisible: true });
            const style = getComputedStyle(one);
            if (document.activeElement !== one || style.outlineStyle === "none") continue;
            one.scrollIntoView({ block: "center", inline: "center" });
            const ring = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
            const box = one.getBoundingClientRect();
            for (let up = one.parentElement; up !== document.body; up = up.parentElement) {
                const { overflowX, overflowY, contentVisibility } = getComputedStyle(up);
                const edge = up.getBoundingClientRect();
                const beyond = Math.max(
                    edge.left - box.left,
                    edge.top - box.top,
                    box.right - edge.right,
                    box.bottom - edge.bottom,
                );
                const kinds = [overflowX, overflowY, contentVisibility];
                if (kinds.every((kind) => kind === "visible") || beyond + ring <= 0.5) continue;
                cut.push(`${one.outerHTML.slice(0, 150)} by ${up.className}`);
            }
        }
        return cut;
    }
"""


@pytest.mark.parametrize("path", ["rows", "/condensations/", "/settings/"])
def test_no_focus_ring_is_cut_off(
    open_page: OpenPage, addresses: dict[str, str], path: str
) -> None:
    """Wherever forms and lists end, and in every kind of row, all of whose records are open."""
    page = open_page(addresses.get(path, path))
    page.evaluate(
        "for (const one of document.querySelectorAll('#transcript details')) one.open = 1"
    )
    for width in (1280, 360) if path == "rows" else (1280,):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(CLIPPED) == []


def test_a_button_keeps_the_focus_when_the_rows_are_fetched_again(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """Something else has changed meanwhile; the next Enter still does what it says."""
    page = open_page(addresses["rows"])
    page.get_by_role("textbox", name="Message").wait_for()
    button = page.get_by_role("button", name="Undo condensation")
    button.evaluate("one => { one.dataset.old = ''; one.focus() }")
    page.evaluate("document.body.dispatchEvent(new Event('transcript-changed'))")
    expect(page.locator("[data-old]")).to_have_count(0)
    expect(button).to_be_focused()
