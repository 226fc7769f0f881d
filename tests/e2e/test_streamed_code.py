"""A code block that is being written, in a real browser, frame by frame."""

import re

import pytest
from playwright.sync_api import expect

from chatapp.live.streamed_text import Streaming
from tests.e2e.conftest import OpenPage
from tests.e2e.frames import Line, begin

pytestmark = pytest.mark.browser


def test_a_code_block_grows_in_place(open_page: OpenPage, long_chat: str) -> None:
    """What was there is not read anew: its Copy button keeps the focus; twice does no harm."""
    page, streaming = open_page(), Streaming()
    line = Line(page)
    page.goto(long_chat)
    page.get_by_role("textbox", name="Message").wait_for()
    code = page.locator("#streaming code")
    begun = "x = '🦉' # <b>\n" * 6_000  # more than a browser keeps in one node
    streaming.feed("Look:\n\n```python\n" + begun)
    line.show(begin(page, streaming), streaming.snapshot(), streaming.news())
    expect(code).to_have_text(begun, use_inner_text=False)
    copy = page.locator("#streaming").get_by_role("button", name="Copy code")
    copy.focus()
    streaming.feed("y = '漢' & 2\nz = ")
    grown = streaming.news()
    assert grown["type"] == "code.streamed"
    line.show(grown, grown)
    expect(code).to_have_text(re.compile(r"y = '漢' & 2\s+z =\s*$"))
    assert code.text_content() == begun + "y = '漢' & 2\nz = "
    expect(copy).to_be_focused()
    streaming.feed("3\n```\n\nThat is all. ")
    # Older news that come after newer ones are left alone.
    line.show(streaming.snapshot(), grown, streaming.news())
    expect(page.locator("#streaming")).to_contain_text("That is all.")
    assert code.text_content() == begun + "y = '漢' & 2\nz = 3\n"
