"""A person has the last word: a summary is reviewed, a part chosen, undone, written again."""

import re

from playwright.sync_api import expect

from tests.e2e.accessibility import complaints
from tests.e2e.chat import texts
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
    chat.button("What must be kept?").click()
    chat.page.get_by_role("checkbox", name="Let me review the summary").check()
    chat.page.keyboard.press("Escape")
    chat.button("Condense context").click()
    draft = chat.page.get_by_role("textbox", name="Summary", exact=True)
    gate.wait_until_reached()
    expect(draft).not_to_be_editable()
    gate.open()
    expect(chat.page.get_by_role("group", name="Summary")).to_contain_text(PASSWORD)
    chat.page.get_by_role("checkbox", name="Edit").check()
    expect(draft).to_have_value(re.compile(re.escape(PASSWORD)))
    # What is typed is kept and counted a moment later, which must not meet the next draft.
    with chat.page.expect_response("**/figures/"):
        chat.page.get_by_role("textbox", name="What must be kept?").fill("the vault")
    chat.button("Write again").click()
    expect(chat.page.get_by_text("Draft 2")).to_be_visible()
    assert "the vault" in str(standin.requests[-1].body["messages"][-1])
    other = chat.second()
    expect(other.button("Accept")).to_be_visible()
    chat.page.get_by_role("checkbox", name="Edit").check()
    assert complaints(chat.page) == []
    figures = chat.page.get_by_role("group", name="Effect")
    before = figures.text_content() or ""
    draft.press("Escape")
    expect(chat.box).to_be_focused()
    draft.fill("1. Own words:\n   - Nothing but this.")
    expect(figures).not_to_have_text(before)
    chat.page.reload()
    expect(chat.page.get_by_role("group", name="Summary")).to_have_text(
        re.compile(r"Own words:\s+Nothing but this.")
    )
    expect(figures).not_to_have_text(before)
    chat.button("Accept").click()
    for tab in (chat, other):
        expect(tab.rows("Context condensed")).to_be_visible()
        expect(tab.button("Accept")).to_have_count(0)
        tab.finished()
    chat.choose(chat.rows("Context condensed"), "Details")
    expect(chat.page.get_by_text("Draft 2: changed and accepted")).to_be_visible()


def test_a_part_is_condensed_undone_redone_written_again_and_forked(
    open_chat: OpenChat, standin: Standin
) -> None:
    """Each control where it is looked for; what is sent is what the page says."""
    chat = open_chat()
    anew = Reply("<summary>The vault opens with heliotrope-42.</summary>")
    standin.then(Reply("Noted."), Reply("Blue."), Reply("Red."), summary(), Reply("Well."), anew)
    for words in (long("What is the sky?"), long(PASSWORD), "And the sun?"):
        chat.ask(words)
    chat.act(chat.rows("You").nth(1), "More actions")
    chat.button("Condense from here to …").click()
    dialog = chat.page.get_by_role("dialog", name="Condense from here to …")
    ends = dialog.get_by_role("combobox", name="Up to")
    expect(ends.locator("option:checked")).to_contain_text("Agent: Blue. (2 messages")
    assert complaints(chat.page) == []
    dialog.get_by_role("button", name="Condense these").click()
    made = chat.rows("Context condensed")
    expect(made).to_be_visible()
    chat.finished()
    made.get_by_role("button", name="Undo condensation").click()
    made.get_by_role("button", name="Redo").click()
    made.get_by_role("button", name="Undo condensation").wait_for()
    chat.ask("What do you know?")
    sent = texts(standin.requests[-1].body)
    assert "What is the sky?" in sent[0]
    assert "This is a part of this conversation, condensed" in "\n".join(sent)
    assert not any(text.startswith(PASSWORD) for text in sent)
    chat.choose(made, "Redo summary from originals")
    expect(made).to_have_count(2)
    chat.finished()
    assert PASSWORD in "\n".join(texts(standin.requests[-1].body))
    before = chat.page.url
    chat.choose(made.first, "Branch from here")
    forks = chat.page.get_by_role("navigation", name="Forks")
    expect(forks.get_by_text("Forked from")).to_be_visible()
    assert chat.page.url != before
    expect(chat.rows("You")).to_have_count(3)
    expect(made).to_have_count(0)
    forks.get_by_role("link").first.click()
    expect(forks.get_by_text("Continued in")).to_be_visible()
