"""What people write to the agent, and find again."""

import re

from playwright.sync_api import expect

from tests.e2e.chat import scroll
from tests.e2e.conftest import OpenChat
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

LINES = "\n".join(f"Line {number} of the logbook" for number in range(30))
CODE = "```python\n" + "print()\n" * 39 + "```\n\n"


def test_a_long_message_folds_and_two_conversations_of_one_name_are_told_apart(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The button to the end lies over code, how it ended fades, and a search marks its words."""
    chat = open_chat()
    standin.then(Reply(CODE * 4))
    chat.ask(LINES)
    own = chat.rows("You").locator(".prose")
    height = own.evaluate("one => one.offsetHeight")
    chat.button("Show all").click()
    assert own.evaluate("one => one.offsetHeight") > 2 * height
    chat.button("Show fewer").first.click()
    assert own.evaluate("one => one.offsetHeight") == height
    expect(chat.page.locator("#status")).to_have_class(re.compile("is-past"))
    scroll(chat.page, -600)
    jump = chat.button("Jump to latest")
    expect(jump).to_be_visible()
    assert jump.evaluate(
        "one => { const { x, y, width, height } = one.getBoundingClientRect();"
        " return one.contains(document.elementFromPoint(x + width / 2, y + height / 2)); }"
    )
    again = open_chat()
    standin.then(Reply("Yes."))
    again.ask(LINES)
    title = again.page.get_by_role("link", name=re.compile(r"^Line 0 .*\d:\d\d"))
    expect(title).to_have_count(2)
    again.page.keyboard.press("Control+k")
    again.page.keyboard.type("logbook")
    found = again.page.get_by_role("listbox", name="Palette")
    expect(found.locator("mark").first).to_have_text("logbook")
    found.get_by_role("option", name="All results for “logbook”").click()
    again.page.wait_for_url("**/conversations/?q=logbook")
