"""Searching in a real browser: beside the page, and in the conversation that it shows."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import OpenPage

# What is marked on the page; the browser draws it without any element.
MARKED = """
    () => [...CSS.highlights.get("found") ?? []]
        .filter((range) => {
            const { top, bottom } = range.getBoundingClientRect();
            const element = range.startContainer.parentElement;
            return bottom > top && ["#scroller", "article", "pre, p"].every((name) => {
                const box = element.closest(name).getBoundingClientRect();
                return top >= box.top - 1 && bottom <= box.bottom + 1;
            });
        })
        .map(String)
"""


def bar(page: Page) -> Locator:
    """Return the field that searches in the conversation."""
    return page.get_by_role("search", name="Search in conversation").get_by_role("searchbox")


def expect_marked(page: Page, *words: str) -> None:
    """Wait until just these words are marked in view."""
    page.wait_for_function(f"words => `${{({MARKED})()}}` === `${{words}}`", arg=list(words))


def test_what_is_hidden_far_above_is_found_beside_the_page(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """A click leads to its place, where the words are marked; so does the address alone."""
    page, words = open_page(addresses["history"]), "heliotrope comp"
    expect(page.locator("#message-48")).to_have_count(0)
    page.get_by_role("searchbox", name="Search conversations").fill(words)
    hits = page.get_by_role("list", name="The logbook")
    expect(hits.get_by_role("link")).to_have_count(1)
    expect(hits).to_contain_text("hidden by a condensation")
    hits.get_by_role("link").click()
    row = page.locator("#message-48")
    expect(row).to_be_focused()
    expect(row).to_be_in_viewport()
    expect(page.get_by_text("1 of 1", exact=True)).to_be_visible()
    page.wait_for_function(f"words => ({MARKED})().join(' ') === words", arg=words)
    page.reload()
    expect(row).to_be_focused()
    expect(page.get_by_role("list", name="The logbook").get_by_role("link")).to_have_attribute(
        "aria-current", "location"
    )
    page.go_back()
    expect(page.locator("#message-365")).to_be_in_viewport()


def test_a_conversation_is_stepped_through(open_page: OpenPage, addresses: dict[str, str]) -> None:
    """From what is being read on, and around; places that are not on the page are fetched.

    What is typed is shown at once.
    """
    page = open_page(addresses["history"])
    page.get_by_role("button", name="Search in conversation").click()
    expect(bar(page)).to_be_focused()
    bar(page).fill('"page 3"')
    expect(page.get_by_text("22 of 22")).to_be_visible()
    expect(page.locator("#message-234")).to_be_in_viewport()
    expect_marked(page, "Page 3")
    page.get_by_role("button", name="Next match").click()
    expect(page.get_by_text("1 of 22")).to_be_visible()
    expect(page.locator("#message-13")).to_be_in_viewport()
    expect(page).to_have_url(re.compile(r"\?at=13\.13&q=%22page%203%22$"))
    bar(page).press("Shift+Enter")
    expect(page.get_by_text("22 of 22")).to_be_visible()
    expect(bar(page)).to_be_focused()
    page.get_by_role("button", name="Previous match").click()
    expect(page.locator("#message-229")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(bar(page)).to_be_hidden()
    expect(page.locator("#message-229")).to_be_focused()
    assert page.evaluate("CSS.highlights.size") == 0


def test_what_was_rewound_and_what_tools_said_is_shown_where_it_is(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """The rewind opens, and so does the card of the call."""
    page = open_page(addresses["history"])
    page.locator("#transcript").click(position={"x": 5, "y": 5})
    page.keyboard.press("/")
    bar(page).fill("astrolabe")
    expect(page.get_by_text("Nobody speaks of the astrolabe any more.")).to_be_in_viewport()
    expect_marked(page, "astrolabe")
    bar(page).fill('"the text of call-9-2"')
    expect(page.get_by_text("1 of 1", exact=True)).to_be_visible()
    expect_marked(page, "The text of call-9-2")
    bar(page).fill("nothing of the kind")
    expect(page.get_by_text("No message", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Next match")).to_be_disabled()
