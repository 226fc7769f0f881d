"""A code block that is being written, in a real browser, frame by frame."""

import re

import pytest
from playwright.sync_api import WebSocketRoute, expect

from chatapp.live import protocol
from chatapp.live.streamed_text import Streaming
from tests.e2e.conftest import OpenPage

pytestmark = pytest.mark.browser

PANEL = protocol.panel(bar="", condensing="", written="", notice="", now=0)


def begin(streaming: Streaming) -> list[protocol.Frame]:
    """Return what a page is sent first."""
    article = (streaming.id, streaming.render())
    shown = protocol.snapshot(
        revision=0, running=True, status="Writing…", articles=[article], panel=PANEL
    )
    return [shown, streaming.snapshot()]


def test_a_code_block_grows_in_place(open_page: OpenPage, long_chat: str) -> None:
    """What was there is not read anew: its Copy button keeps the focus; twice does no harm."""
    page, streaming = open_page(), Streaming()
    sockets: list[WebSocketRoute] = []

    def answer(socket: WebSocketRoute) -> None:
        sockets.append(socket)

    def show(*frames: protocol.Frame) -> None:
        for frame in frames:
            sockets[-1].send(protocol.encode(frame))

    page.route_web_socket(re.compile("/ws/"), answer)
    page.goto(long_chat)
    page.get_by_role("textbox", name="Message").wait_for()
    code = page.locator("#streaming code")
    begun = "x = '🦉' # <b>\n" * 6_000  # more than a browser keeps in one node
    streaming.feed("Look:\n\n```python\n" + begun)
    show(*begin(streaming), streaming.news())
    expect(code).to_have_text(begun, use_inner_text=False)
    copy = page.locator("#streaming").get_by_role("button", name="Copy code")
    copy.focus()
    streaming.feed("y = '漢' & 2\nz = ")
    grown = streaming.news()
    assert grown["type"] == "code.streamed"
    show(grown, grown)
    expect(code).to_have_text(re.compile(r"y = '漢' & 2\s+z =\s*$"))
    assert code.text_content() == begun + "y = '漢' & 2\nz = "
    expect(copy).to_be_focused()
    streaming.feed("3\n```\n\nThat is all. ")
    # Older news that come after newer ones are left alone.
    show(streaming.snapshot(), grown, streaming.news())
    expect(page.locator("#streaming")).to_contain_text("That is all.")
    assert code.text_content() == begun + "y = '漢' & 2\nz = 3\n"
