"""What a model wrote, as it is read on a wide screen and on a phone."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import complaints
from tests.e2e.conftest import OpenChat, OpenPage
from tests.standin.behaviours import Gate, Raw, Reply
from tests.standin.server import Standin

# How many lines each word of the table takes.
WORDS = """
() => [...document.querySelectorAll(".table-box :is(th, td)")].flatMap((cell) => {
  const node = cell.firstChild;
  return [...node.data.matchAll(/\\S+/g)].map((word) => {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    return [word[0], range.getClientRects().length];
  });
})
"""
# The key's own scrolling may go on for a while.
BEGINS_AT_THE_LEFT = """
() => {
  const formula = document.querySelector(".formula");
  formula.scrollLeft = 0;
  return formula.querySelector("mi").getBoundingClientRect().x >= 0;
}
"""


def is_scrollable(page: Page, selector: str) -> bool:
    """Whether the element scrolls sideways."""
    return bool(page.eval_on_selector(selector, "one => one.scrollWidth > one.clientWidth"))


def test_words_of_a_table_stay_whole_and_what_is_wide_scrolls_in_its_own_box(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """However narrow the screen is, and the page itself does not scroll sideways.

    A link shows where it leads, also to those who cannot hover, and who listen. Tables, code and
    formulas scroll by keyboard; a formula begins at its left end.
    """
    page = open_page(addresses["rich"])
    expect(page.get_by_role("link", name=re.compile(r"a link\s+a\.example"))).to_be_visible()
    box = page.get_by_role("group", name="Table: Model, Context, Price, and Good for")
    expect(box).to_be_visible()
    for width in (1440, 360):
        page.set_viewport_size({"width": width, "height": 800})
        words = dict(page.evaluate(WORDS))
        assert "1,200,000" in words
        assert set(words.values()) == {1}
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert is_scrollable(page, ".table-box") == (width == 360)
        expect(box.get_by_role("cell", name="1,200,000")).to_have_css("text-align", "right")
    # On paper nothing scrolls.
    page.emulate_media(media="print")
    assert not is_scrollable(page, ".table-box")
    page.emulate_media(media="null")

    assert complaints(page) == []
    for selector in (".table-box", ".code-block pre", ".formula"):
        page.locator(selector).focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(
            "selector => document.querySelector(selector).scrollLeft > 0", arg=selector
        )
    assert is_scrollable(page, "p math")
    page.wait_for_function(BEGINS_AT_THE_LEFT)


def test_long_code_keeps_its_height_until_its_reader_opens_it(
    open_chat: OpenChat, standin: Standin
) -> None:
    """While it is written and after; its bar stays in view, and what was opened stays open."""
    chat, gate, line = open_chat(), Gate(), "if x: pass\n"
    begun = {"type": "text_delta", "text": "\n\n```python\n" + line * 60}
    extra = Raw.event({"type": "content_block_delta", "index": 0, "delta": begun})
    standin.then(Reply(f"Look: it is {line * 100}```\n\nThat.", extra=(extra,), gate=gate))
    chat.type("Write it.")
    block, fewer = chat.log.locator(".code-block"), chat.button("Show fewer")
    expect(chat.button("Show all 60 lines")).to_be_visible()
    height = block.evaluate("one => one.offsetHeight")
    chat.button("Show all 60 lines").click()
    expect(fewer).to_be_focused()
    gate.open()
    chat.finished()
    expect(block.locator(".k")).to_have_count(320)
    assert block.evaluate("one => one.offsetHeight") > 2 * height
    block.locator(".k").last.scroll_into_view_if_needed()
    expect(chat.button("Copy code")).to_be_in_viewport()
    fewer.click()
    expect(chat.button("Show all 160 lines")).to_be_focused()
    assert block.evaluate("one => one.offsetHeight") == height
    expect(chat.button("Copy code")).to_be_in_viewport()
