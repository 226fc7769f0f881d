"""What is hidden and needed again: one line under the message, which opens and leads there."""

import re

from playwright.sync_api import expect

from tests.e2e.accessibility import complaints, problems
from tests.e2e.conftest import OpenChat
from tests.e2e.words import PASSWORD, long, summary
from tests.standin.behaviours import Reply
from tests.standin.server import Standin


def test_what_was_recalled_opens_by_keyboard_and_leads_to_the_hidden_message(
    open_chat: OpenChat, standin: Standin
) -> None:
    """At once and after a reload; also where the hidden messages are folded to one line."""
    chat = open_chat()
    page = chat.page
    standin.then(Reply("Noted."), Reply("Fine."), summary(), Reply("It is in the summary."))
    chat.ask(PASSWORD)
    chat.ask(long("Nothing else."))
    chat.condense()
    chat.ask("What is the password of the vault, heliotrope and a number?")
    line = chat.log.get_by_text(re.compile(r"^Recalled \d passages?$"))
    expect(line).to_be_visible()
    chat.open()
    page.locator(".margin-line").get_by_role("button").click()
    said = chat.rows("You").first
    expect(said).to_be_hidden()
    line.focus()
    page.keyboard.press("Enter")
    passage = page.locator(".recalled blockquote").filter(has_text=PASSWORD)
    expect(passage).to_be_visible()
    assert complaints(page) == []
    page.set_viewport_size({"width": 360, "height": 780})
    assert problems(page, 360) == []
    passage.get_by_role("link").press("Enter")
    expect(said).to_be_focused()
    expect(said).to_contain_text(PASSWORD)
