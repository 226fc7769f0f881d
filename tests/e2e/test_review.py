"""A person reads what the model wrote before it applies, and has the last word."""

import re

from playwright.sync_api import expect

from tests.e2e.accessibility import complaints
from tests.e2e.conftest import OpenChat
from tests.e2e.words import PASSWORD, long, summary
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin


def test_a_summary_is_reviewed_in_an_editor_and_applies_as_it_was_changed(
    open_chat: OpenChat, standin: Standin
) -> None:
    """It streams there, size and receipt follow what is typed, and each tab shows the same."""
    chat, gate = open_chat(), Gate()
    standin.then(Reply("Noted."), summary(gate), summary())
    chat.ask(long(PASSWORD))
    chat.button("Keep especially…").click()
    chat.page.get_by_role("checkbox", name="Review before it applies").check()
    chat.page.keyboard.press("Escape")
    chat.button("Condense context").click()
    draft = chat.page.get_by_role("textbox", name="Summary", exact=True)
    gate.wait_until_reached()
    expect(draft).not_to_be_editable()
    gate.open()
    expect(draft).to_be_editable()
    expect(draft).to_have_value(re.compile(re.escape(PASSWORD)))
    chat.page.get_by_role("textbox", name="Focus").fill("the vault")
    chat.button("Write again").click()
    expect(chat.page.get_by_text("Draft 2")).to_be_visible()
    assert "the vault" in str(standin.requests[-1].body["messages"][-1])
    other = chat.second()
    expect(other.button("Accept")).to_be_visible()
    assert complaints(chat.page) == []
    figures = chat.page.get_by_role("group", name="What it would come to")
    before = figures.text_content() or ""
    draft.press("Escape")
    expect(chat.box).to_be_focused()
    draft.fill("1. Own words:\n   - Nothing but this.")
    expect(figures).not_to_have_text(before)
    chat.page.reload()
    expect(draft).to_have_value("1. Own words:\n   - Nothing but this.")
    expect(figures).not_to_have_text(before)
    chat.button("Accept").click()
    for tab in (chat, other):
        expect(tab.rows("Context condensed")).to_be_visible()
        expect(tab.button("Accept")).to_have_count(0)
    chat.page.get_by_role("link", name="Whole record").first.click()
    expect(chat.page.get_by_text("Draft 2: changed and accepted")).to_be_visible()
