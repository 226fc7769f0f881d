"""Everything in a conversation works from the keyboard, and the page never runs away."""

from playwright.sync_api import expect

from tests.e2e.accessibility import complaints
from tests.e2e.chat import texts
from tests.e2e.conftest import OpenChat
from tests.e2e.words import PASSWORD, long, summary
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin


def test_enter_sends_and_shift_enter_starts_a_line(open_chat: OpenChat, standin: Standin) -> None:
    """The focus stays in the composer through the whole turn."""
    chat, gate = open_chat(), Gate()
    standin.reply("Two lines, I see.", gate=gate)
    expect(chat.box).to_be_focused()
    chat.page.keyboard.type("One")
    chat.page.keyboard.press("Shift+Enter")
    chat.page.keyboard.type("Two")
    chat.page.keyboard.press("Enter")
    expect(chat.stop).to_be_visible()
    expect(chat.box).to_be_focused()
    expect(chat.box).to_have_value("")
    gate.open()
    chat.finished()
    expect(chat.box).to_be_focused()
    assert texts(standin.requests[0].body) == ["One\nTwo"]


def test_an_edit_in_vain_is_said_and_the_text_kept(open_chat: OpenChat, standin: Standin) -> None:
    """While an answer is being written, and while the context is condensed."""
    chat, writing, condensing = open_chat(), Gate(), Gate()
    standin.then(Reply("One two three four.", gate=writing), summary(condensing))
    chat.type(long(PASSWORD))
    expect(chat.rows("Agent")).to_contain_text("One two three")
    chat.box.press("ArrowUp")
    expect(chat.status("The reply is still being written. Stop it, or edit")).to_be_visible()
    writing.open()
    chat.finished()
    chat.button("Condense context").click()
    expect(chat.button("Cancel")).to_be_visible()
    chat.box.press("ArrowUp")
    expect(chat.status("The context is still being condensed. Cancel that")).to_be_visible()
    condensing.open()
    chat.finished()


def test_escape_stops_the_agent_and_arrow_up_edits_the_last_message(
    open_chat: OpenChat, standin: Standin
) -> None:
    """From the composer, where the focus is and comes back to; Enter sends the edit."""
    chat, gate = open_chat(), Gate()
    standin.then(Reply("One two three four five six.", gate=gate), Reply("Hello, Grace."))
    chat.type("I am Ada.")
    expect(chat.rows("Agent")).to_contain_text("One two three")
    chat.page.keyboard.press("Escape")
    chat.finished("Stopped.")
    expect(chat.box).to_be_focused()
    assert complaints(chat.page) == []
    chat.page.keyboard.press("ArrowUp")
    edit = chat.page.get_by_role("textbox", name="Your edit")
    expect(edit).to_be_focused()
    edit.fill("I am Grace.")
    chat.page.keyboard.press("Enter")
    chat.finished()
    expect(chat.rows("Agent").last).to_contain_text("Hello, Grace.")
    expect(chat.box).to_be_focused()


def test_a_question_mark_lists_the_shortcuts_unless_it_is_typed(open_chat: OpenChat) -> None:
    """Esc closes the list and gives the focus back."""
    chat = open_chat()
    chat.box.press("?")
    expect(chat.box).to_have_value("?")
    chat.button("Condense context").focus()
    chat.page.keyboard.press("?")
    dialog = chat.page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Start a new line")
    chat.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(chat.button("Condense context")).to_be_focused()
