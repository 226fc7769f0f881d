"""The context bar while somebody reads it."""

from playwright.sync_api import expect

from tests.e2e.flows.chat import Chat
from tests.e2e.flows.conftest import OpenChat
from tests.standin.behaviours import Reply
from tests.standin.server import Standin


def test_the_bar_that_is_read_is_never_left_behind(open_chat: OpenChat, standin: Standin) -> None:
    """Open and with the focus in it, it takes every change, and stays open where the focus is."""
    chat = open_chat(window=6_000)
    standin.then(Reply("Noted. " * 200), Reply("Again. " * 200))
    meter = chat.page.get_by_role("meter", name="Context window")
    meter.click()
    opened = chat.page.locator("#context-bar details[open]")
    other = Chat(chat.page.context.new_page(), chat.page.url)
    for _ in range(2):
        before = meter.get_attribute("aria-valuetext") or ""
        other.ask("Say it.")
        # What it shows in the end; meanwhile there were others.
        other.open()
        now = other.meter.get_attribute("aria-valuetext") or ""
        assert now != before
        expect(meter).to_have_attribute("aria-valuetext", now)
        expect(opened.locator("summary")).to_be_focused()
