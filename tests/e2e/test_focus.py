"""Whoever goes through a page with the keyboard sees where they are."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenPage

pytestmark = pytest.mark.browser

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


@pytest.mark.parametrize("width", [1280, 360])
def test_no_focus_ring_is_cut_off(open_page: OpenPage, long_chat: str, width: int) -> None:
    """In a conversation with every kind of row, and all of its records open."""
    page = open_page(long_chat, width=width)
    page.evaluate(
        "for (const one of document.querySelectorAll('#transcript details')) one.open = 1"
    )
    assert page.evaluate(CLIPPED) == []


def test_no_focus_ring_is_cut_off_on_other_pages(page: Page) -> None:
    """Wherever forms and lists end."""
    for path in ("/", "/condensations/", "/profiles/", "/settings/"):
        page.goto(path)
        assert page.evaluate(CLIPPED) == [], path


def test_a_button_keeps_the_focus_when_the_rows_are_fetched_again(
    open_page: OpenPage, long_chat: str
) -> None:
    """Something else has changed meanwhile; the next Enter still does what it says."""
    page = open_page(long_chat)
    page.get_by_role("textbox", name="Message").wait_for()
    button = page.get_by_role("button", name="Undo condensation")
    button.evaluate("one => { one.dataset.old = ''; one.focus() }")
    page.evaluate("document.body.dispatchEvent(new Event('transcript-changed'))")
    expect(page.locator("[data-old]")).to_have_count(0)
    expect(button).to_be_focused()
