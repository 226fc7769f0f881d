"""The button that condenses says what it does, what it would hide, and why it does nothing."""

import re

from playwright.sync_api import expect

from tests.e2e.flows.conftest import OpenChat
from tests.e2e.flows.words import PASSWORD, long, summary
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin


def test_with_nothing_to_condense_the_button_says_so_and_does_nothing(
    open_chat: OpenChat, standin: Standin
) -> None:
    """On hover and on focus, also to those who hear the page; Esc puts the words away."""
    chat = open_chat()
    button, tip = chat.button("Condense context"), chat.page.get_by_role("tooltip")
    expect(button).to_be_disabled()
    expect(button).to_have_accessible_description(re.compile("^There is nothing to condense yet"))
    expect(tip).to_be_hidden()
    button.hover()
    expect(tip).to_contain_text("There is nothing to condense yet")
    chat.page.mouse.move(300, 300)
    expect(tip).to_be_hidden()
    button.press("Enter")
    expect(tip).to_be_visible()
    chat.page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    standin.reply("Noted.")
    chat.ask(PASSWORD)
    assert len(standin.requests) == 1
    expect(chat.rows("Condensation failed")).to_have_count(0)


def test_the_button_says_what_it_would_hide(open_chat: OpenChat, standin: Standin) -> None:
    """In numbers, before it is pressed; after it, too little is left."""
    chat = open_chat()
    standin.then(Reply("Noted."), summary())
    chat.ask(long(PASSWORD))
    button = chat.button("Condense context")
    button.hover()
    tip = chat.page.get_by_role("tooltip")
    expect(tip).to_contain_text("Hides up to 2 messages from the model")
    expect(tip).to_contain_text("Nothing is deleted, and it can be undone.")
    button.click()
    expect(chat.rows("Context condensed")).to_be_visible()
    expect(button).to_be_disabled()
    button.hover()
    expect(tip).to_contain_text("Too little was said since the last condensation")


def test_while_condensing_the_header_says_so(open_chat: OpenChat, standin: Standin) -> None:
    """Beside the title, until it is done; the button's reason is that."""
    chat, gate = open_chat(), Gate()
    standin.then(Reply("Noted."), summary(gate))
    chat.ask(long(PASSWORD))
    mark = chat.page.locator("#chat-head").get_by_text("Condensing…")
    expect(mark).to_be_hidden()
    chat.button("Condense context").click()
    expect(mark).to_be_visible()
    chat.button("Condense context").hover()
    expect(chat.page.get_by_role("tooltip")).to_have_text("The context is being condensed now.")
    gate.open()
    chat.finished()
    expect(mark).to_be_hidden()


def test_a_double_click_condenses_once_and_nothing_is_refused(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The second one is the same wish."""
    chat, gate = open_chat(), Gate()
    standin.then(Reply("Noted."), summary(gate))
    chat.ask(long(PASSWORD))
    chat.button("Condense context").dblclick()
    expect(chat.status("Condensing context…")).to_be_visible()
    gate.open()
    expect(chat.rows("Context condensed")).to_have_count(1)
    expect(chat.alert).to_have_count(0)
    assert len(standin.requests) == 2
