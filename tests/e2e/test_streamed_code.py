"""Code and tables that are being written, in a real browser, frame by frame."""

import re

from playwright.sync_api import expect

from chatapp.live.streamed_text import Streaming
from tests.e2e.line import Line, begin


def test_a_code_block_grows_in_place(line: Line, addresses: dict[str, str]) -> None:
    """What was there is not read anew: its Copy button keeps the focus; twice does no harm."""
    page, streaming = line.hold(addresses["rows"]), Streaming()
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


def test_a_table_that_grows_stays_where_the_reader_has_it(
    line: Line, addresses: dict[str, str]
) -> None:
    """It comes anew with each cell, but neither its scroll position nor the focus gets lost."""
    page, streaming = line.hold(addresses["rows"], width=360), Streaming()
    columns = [f"heading{number}" for number in range(12)]
    row = f"| {' | '.join(columns)} |\n"
    streaming.feed(f"Look:\n\n{row}|{'---|' * 12}\n{row}")
    line.show(begin(page, streaming), streaming.snapshot())
    table = page.locator("#streaming").get_by_role("group", name="Table")
    table.focus()
    table.evaluate("one => { one.scrollLeft = 150 }")
    streaming.feed(row)
    line.show(streaming.news())
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table).to_be_focused()
    assert table.evaluate("one => one.scrollLeft") == 150
    streaming.feed("\nThat is all. ")
    line.show(streaming.news())
    expect(page.locator("#streaming")).to_contain_text("That is all.")
    expect(table).to_be_focused()
    assert table.evaluate("one => one.scrollLeft") == 150
