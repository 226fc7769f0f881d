"""Rewinding and editing, past a condensation and forward again."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.accessibility import open_all, problems
from tests.e2e.chat import HEADING, Chat, texts
from tests.e2e.conftest import OpenChat
from tests.e2e.words import PASSWORD, long, summary
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

BACK = "Go back to before this"


def condensed(chat: Chat, standin: Standin) -> Locator:
    """Have a conversation: a long message, a condensation, whose row is returned, a question."""
    standin.then(Reply("Noted."), summary(), Reply("Heliotrope."))
    chat.ask(long(PASSWORD))
    row = chat.condense()
    chat.ask("Which flower?")
    return row


def rewind(chat: Chat, row: Locator, name: str, *, hides: str) -> None:
    """Use a row's rewind button, or a fold's entry; the dialog says first what that hides."""
    (chat.choose if name == BACK else chat.act)(row, name)
    dialog = chat.page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{hides} will be hidden. You can undo this")
    dialog.get_by_role("button", name="Rewind", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(chat.rows("Rewound")).to_be_visible()


def test_rewinding_to_before_a_condensation_brings_the_originals_back(
    open_chat: OpenChat, standin: Standin
) -> None:
    """It can be undone until something new is written; the model sees what the page shows."""
    chat = open_chat()
    fold = condensed(chat, standin)
    fold.get_by_role("button", name="View").click()
    fold.get_by_text("Record", exact=True).click()
    expect(fold.get_by_text("Identifier")).to_be_visible()
    chat.button("Undo condensation").click()
    expect(chat.button("Undo condensation")).to_have_count(0)
    # What is undone closes.
    expect(fold.get_by_text("Identifier")).to_be_hidden()
    chat.button("Redo").click()
    expect(chat.button("Undo condensation")).to_be_visible()
    hides = "2 messages and 1 condensation"
    rewind(chat, fold, BACK, hides=hides)
    expect(chat.log.get_by_role("link", name="Hidden by a condensation")).to_have_count(0)
    chat.button("Undo rewind").dblclick()
    expect(chat.rows("Rewound")).to_contain_text("Undone")
    expect(chat.rows("Agent").last).to_contain_text("Heliotrope.")
    expect(chat.rows("Agent").last).to_be_in_viewport()
    expect(chat.alert).to_have_count(0)
    rewind(chat, chat.rows("You").last, "Rewind to before this", hides="2 messages")
    standin.reply("A new way.")
    chat.ask("Something new.")
    expect(chat.button("Undo rewind")).to_have_count(0)
    asked = texts(standin.requests[-1].body)
    assert asked[0].startswith(HEADING)
    assert "Which flower?" not in "".join(asked)
    rewind(chat, fold, BACK, hides=hides)
    expect(chat.button("Undo rewind")).to_be_visible()
    chat.rows("Rewound").last.get_by_text("What was rewound").first.click()
    expect(fold).to_be_visible()
    expect(fold.get_by_role("button", name="Undo")).to_have_count(0)
    standin.reply("As before.")
    chat.ask("Once more.")
    assert texts(standin.requests[-1].body) == [long(PASSWORD), "Noted.", "Once more."]


@pytest.mark.rare
def test_the_focus_stays_on_the_page_when_rows_come_and_go(
    open_chat: OpenChat, standin: Standin
) -> None:
    """On the row that was acted on, or in the composer where it is gone; here without a mouse."""
    chat = open_chat()
    standin.then(Reply("Noted."), summary())
    chat.ask(long(PASSWORD))
    fold = chat.condense()
    rewind(chat, fold, BACK, hides="1 condensation")
    expect(chat.box).to_be_focused()
    chat.button("Undo rewind").press("Enter")
    expect(chat.button("Undo rewind")).to_have_count(0)
    expect(chat.rows("Rewound")).to_be_focused()
    chat.button("Undo condensation").press("Enter")
    expect(chat.button("Undo condensation")).to_have_count(0)
    expect(fold).to_be_focused()


def test_an_earlier_message_is_edited_in_place(open_chat: OpenChat, standin: Standin) -> None:
    """What followed it is kept as a version, one click away; the model sees the new words."""
    chat = open_chat()
    condensed(chat, standin)
    standin.reply("Understood.")
    chat.act(chat.rows("You").first, "Edit")
    chat.page.get_by_role("textbox", name="Your edit").fill("Something else.")
    # Esc puts the message back and the focus into the composer.
    chat.page.keyboard.press("Escape")
    expect(chat.rows("You").first).to_contain_text(PASSWORD)
    expect(chat.box).to_be_focused()
    chat.act(chat.rows("You").first, "Edit")
    edit = chat.page.get_by_role("textbox", name="Your edit")
    expect(edit).to_have_value(long(PASSWORD))
    edit.fill("There is no vault.")
    # Nothing that was typed is lost with the page.
    chat.open()
    expect(edit).to_have_value("There is no vault.")
    chat.rows("You").first.get_by_role("button", name="Send").click()
    chat.finished()
    expect(chat.rows("Version 1 of 2")).to_have_count(0)
    expect(chat.rows("Agent").last).to_contain_text("Understood.")
    assert texts(standin.requests[-1].body) == ["There is no vault."]
    chat.act(chat.rows("You").last, "Previous version")
    expect(chat.rows("Agent").last).to_contain_text("Heliotrope.")
    expect(chat.rows("Context condensed")).to_be_visible()
    open_all(chat.page)
    assert problems(chat.page, 360) == []


@pytest.mark.rare
def test_an_edit_that_is_refused_stands_below_what_was_begun(
    open_chat: OpenChat, standin: Standin
) -> None:
    """Here for having nothing in it that can be seen."""
    chat = open_chat()
    standin.reply("Hello.")
    chat.ask("My name is Ada.")
    chat.box.fill("What else?")
    chat.act(chat.rows("You"), "Edit")
    chat.page.get_by_role("textbox", name="Your edit").fill("\u200b")
    chat.rows("You").get_by_role("button", name="Send").click()
    expect(chat.box).to_have_value("What else?\n\n\u200b")
