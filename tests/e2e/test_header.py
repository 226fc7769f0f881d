"""The header of a conversation: a title that can be read, and nothing that moves."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenPage, Server

pytestmark = pytest.mark.browser

TITLE = "Which of the parsers is slow, and what would make it fast?!?"
LUMINANCE = """
    (names) => {
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


@pytest.fixture(scope="module")
def titled(server: Server) -> str:
    """The address of a conversation whose title has 60 characters."""
    script = f"""
from chatapp import services
print(services.start_conversation(owner=services.prepare_owner(), title={TITLE!r}).pk)
"""
    return f"/c/{server.run(script)}/"


@pytest.mark.parametrize(("width", "seen"), [(1440, len(TITLE)), (900, 18), (360, 10)])
def test_a_title_of_sixty_characters_can_be_read(
    open_page: OpenPage, titled: str, width: int, seen: int
) -> None:
    """Whole where there is room, and at least its first words elsewhere."""
    page = open_page(titled, width=width)
    heading = page.get_by_role("heading", level=1)
    room = heading.evaluate(
        "one => (one.clientWidth - 12) / one.firstChild.parentElement.scrollWidth"
    )
    assert room * len(TITLE) >= seen - 2


def test_the_bar_stays_where_it_is_when_a_measure_becomes_an_estimate(
    open_page: OpenPage, long_chat: str
) -> None:
    """Whatever is written beside it, from "5 %" to "≈ 100 %"."""
    page = open_page(long_chat)
    # In one go: what the page hears meanwhile may put another bar in its place.
    write = """(one, words) => {
        one.textContent = words;
        const place = document.querySelector("[role=meter]").getBoundingClientRect();
        return [place.x, place.width];
    }"""
    percent = page.locator(".context-percent")
    places = [percent.evaluate(write, it) for it in ("5 %", "≈ 5 %", "≈ < 1 %", "≈ 100 %")]
    assert places == [places[0]] * 4


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_swatch_for_what_is_free_can_be_seen(
    open_page: OpenPage, long_chat: str, theme: str
) -> None:
    """Its edge stands out from the panel by 3 : 1."""
    page = open_page(long_chat, theme=theme)
    page.get_by_role("meter", name="Context window").click()
    assert page.evaluate(LUMINANCE) >= 3


def test_the_tabs_title_follows_a_rename(page: Page) -> None:
    """At once, as the heading and the list do."""
    page.get_by_role("textbox", name="Message").fill("Hello title")
    page.keyboard.press("Enter")
    expect(page).to_have_title(re.compile("^Hello title · Palimpsest"))
    page.get_by_role("heading", level=1).dblclick()
    page.get_by_role("textbox", name="Title").fill("Another name")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Another name")
    expect(page).to_have_title("Another name · Palimpsest")


def test_a_new_conversation_begins_with_its_first_message(page: Page) -> None:
    """The link leads to the composer of the first page, and leaves no empty entry."""
    before = page.locator(".conversation").count()
    for _ in range(3):
        page.get_by_role("link", name="New conversation").first.click()
        expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.reload()
    assert page.locator(".conversation").count() == before
