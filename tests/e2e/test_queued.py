"""What is sent while the agent works waits above the composer, and can still be changed."""

from playwright.sync_api import Locator, expect

from tests.e2e.chat import Chat
from tests.e2e.conftest import OpenChat
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin


def waiting(chat: Chat) -> Locator:
    """The messages that wait."""
    return chat.page.get_by_role("list", name="Queued messages").get_by_role("listitem")


def test_what_waits_is_edited_removed_and_sent_by_itself(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The keyboard is enough, a reload loses nothing, and the focus stays in the composer."""
    chat, gate = open_chat(), Gate()
    standin.then(Reply("One two three four.", gate=gate), Reply("Hello, Grace."))
    chat.type("Count.")
    expect(chat.rows("Agent")).to_contain_text("One two three")
    expect(chat.send).to_be_hidden()
    chat.type("I am Ada.")
    expect(chat.box).to_have_value("")
    chat.box.fill("Never mind.")
    chat.send.click()
    expect(waiting(chat)).to_have_count(2)
    waiting(chat).last.get_by_role("button", name="Remove").click()
    expect(waiting(chat)).to_have_count(1)
    expect(chat.box).to_be_focused()
    chat.open()
    expect(waiting(chat)).to_contain_text("I am Ada.")
    chat.box.press("ArrowUp")
    edit = chat.page.get_by_role("textbox", name="Queued message")
    expect(edit).to_be_focused()
    edit.fill("I am nobody.")
    chat.open()
    expect(chat.box).to_have_value("I am nobody.")
    chat.box.fill("")
    expect(waiting(chat)).to_contain_text("I am Ada.")
    chat.box.press("ArrowUp")
    edit.fill("I am Grace.")
    edit.press("Enter")
    expect(waiting(chat)).to_contain_text("I am Grace.")
    expect(chat.box).to_be_focused()
    gate.open()
    expect(chat.rows("Agent").last).to_contain_text("Hello, Grace.")
    chat.finished()
    expect(waiting(chat)).to_have_count(0)
    expect(chat.rows("You")).to_have_count(2)
