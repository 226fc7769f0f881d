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
    """The keyboard is enough, a reload changes nothing, and the focus stays in the composer."""
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
    edit.fill("/nosuch")
    edit.press("Enter")
    expect(waiting(chat).get_by_role("status")).to_contain_text("There is no command /nosuch.")
    edit.press("Enter")
    expect(edit).to_have_count(0)
    expect(waiting(chat)).to_contain_text("/nosuch")
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


def test_a_long_message_is_edited_within_the_page(open_chat: OpenChat, standin: Standin) -> None:
    """Without a place to break, or with many lines: the box stays in the column, Save in sight."""
    chat = open_chat()
    standin.reply("One two three.", gate=Gate())
    chat.type("Count.")
    expect(chat.rows("Agent")).to_contain_text("One two")
    for number, words in enumerate(("x" * 300, "line\n" * 12), start=1):
        chat.type(words)
        expect(waiting(chat)).to_have_count(number)
    edit = chat.page.get_by_role("textbox", name="Queued message")
    for number in range(2):
        waiting(chat).nth(number).get_by_role("button", name="Edit").click()
        expect(edit).to_be_focused()
        expect(waiting(chat).get_by_role("button", name="Save")).to_be_in_viewport(ratio=1)
        box, column = edit.bounding_box(), chat.box.bounding_box()
        assert box
        assert column
        assert box["x"] >= column["x"] - 20
        assert box["width"] <= column["width"] + 40
        edit.press("Escape")


def test_send_now_stops_the_agent(open_chat: OpenChat, standin: Standin) -> None:
    """After a stop by hand it stays, with a button to send it."""
    chat = open_chat()
    standin.then(Reply("One two three.", gate=Gate()), Reply("Four five six.", gate=Gate()))
    standin.reply("Seven.")
    chat.type("Count.")
    expect(chat.rows("Agent")).to_contain_text("One two")
    chat.type("Go on.")
    waiting(chat).get_by_role("button", name="Send now").click()
    expect(chat.rows("Agent").last).to_contain_text("Four five")
    expect(waiting(chat)).to_have_count(0)
    chat.type("And then?")
    expect(waiting(chat)).to_have_count(1)
    chat.box.press("Escape")
    chat.finished("Stopped.")
    waiting(chat).get_by_role("button", name="Send now").click()
    expect(chat.rows("Agent").last).to_contain_text("Seven.")
    chat.finished()
