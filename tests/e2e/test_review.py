"""A person has the last word: a summary is reviewed, a part chosen, undone, written again."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.accessibility import complaints
from tests.e2e.chat import Chat, texts
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
    expect(chat.page.get_by_role("group", name="Summary")).to_contain_text(
        re.compile(r"Own words\s+Nothing but this.")
    )
    expect(figures).not_to_have_text(before)
    chat.button("Accept").click()
    for tab in (chat, other):
        expect(tab.rows("Context condensed")).to_be_visible()
        expect(tab.button("Accept")).to_have_count(0)
        tab.finished()
    fold = chat.rows("Context condensed")
    expect(fold.get_by_text("changed in review").first).to_be_visible()
    chat.choose(fold, "Details")
    expect(chat.page.get_by_text("Draft 2: changed and accepted")).to_be_visible()


@pytest.mark.rare
def test_a_person_sees_what_a_review_is_of_and_has_the_last_word(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The refusal, the cost so far and what was asked to be kept; the refused one can be used.

    Whoever finds it bad says so in a word, which the row shows.
    """
    chat, refused = open_chat(), Reply("<summary>It was about **a vault**.</summary>")
    standin.then(Reply("Noted. " * 150), *[refused] * 4)
    chat.ask(long(PASSWORD, times=3))
    chat.button("What must be kept?").click()
    chat.page.get_by_role("checkbox", name="Let me review the summary").check()
    focus = chat.page.get_by_role("textbox", name="What must be kept?")
    focus.fill("the password of the vault")
    focus.press("Enter")
    review = chat.page.get_by_role("form", name="Review before it is applied")
    why = "The model's summary was refused: It has 0 of 9 sections"
    for said in ("you started it", "so far", why, "These are key facts only.", "Your words"):
        expect(review).to_contain_text(said)
    expect(review).not_to_contain_text("## Ledger")
    expect(review).to_contain_text(
        re.compile("the password of the vault” · kept|the password of the vault · kept")
    )
    assert complaints(chat.page) == []
    chat.button("Write again").click()
    expect(review).to_contain_text("Draft 2")
    expect(review).to_contain_text("It was to be written again, which failed")
    review.get_by_text("Show the refused summary").click()
    expect(review.locator("strong").get_by_text("a vault")).to_be_visible()
    figures = review.get_by_role("group", name="Effect")
    before = figures.text_content() or ""
    # What is accepted is what somebody looks at.
    edit = review.get_by_role("checkbox", name="Edit the refused summary")
    edit.press("Enter")
    edit.check()
    expect(review).to_contain_text("Draft 2")
    expect(figures).not_to_have_text(before)
    chat.button("Accept").click()
    fold = chat.rows("Context condensed")
    expect(fold).to_contain_text("the refused summary, as you chose")
    expect(fold).to_contain_text("your review")
    chat.finished()
    fold.get_by_role("button", name="View").click()
    fold.get_by_role("textbox", name="Why").fill("no numbers")
    fold.get_by_role("button", name="Bad", exact=True).click()
    expect(fold).to_contain_text("You found it bad: no numbers")
    chat.choose(fold, "Details")
    expect(chat.page.get_by_text("Draft 2: refused by a rule, used all the same")).to_be_visible()
    expect(chat.page.get_by_text("It was about a vault.").first).to_be_visible()


def pick_ends(chat: Chat, dialog: Locator) -> None:
    """Pick the end in the conversation and by keys, not before the beginning; and leave it."""
    inside, line = chat.page.locator(".in-range"), dialog.locator("#range-line")
    expect(inside).to_have_count(2)
    for message, count in ((chat.rows("Agent").last, 4), (chat.rows("You").last, 3)):
        message.get_by_role("paragraph").first.click()
        expect(inside).to_have_count(count)
        expect(line).to_contain_text(f"{count} messages")
    chat.rows("You").first.get_by_role("paragraph").first.click()
    expect(inside).to_have_count(3)
    dialog.get_by_role("combobox", name="Up to").focus()
    chat.page.keyboard.press("ArrowUp")
    expect(inside).to_have_count(2)
    assert complaints(chat.page) == []
    chat.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(inside).to_have_count(0)


@pytest.mark.rare
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
    dialog = chat.page.get_by_role("form", name="Condense from here to …")
    ends = dialog.get_by_role("combobox", name="Up to")
    expect(ends.locator("option:checked")).to_contain_text("Agent: Blue. (2 messages")
    expect(dialog.locator("#range-line")).to_have_text(
        re.compile(r"^2 messages · ≈ [\d,]+ → ≈ 250 tokens · ≈ \$0\.\d+$")
    )
    chat.page.keyboard.press("Escape")
    expect(chat.rows("You").nth(1).get_by_role("button", name="Copy")).to_be_focused()
    chat.act(chat.rows("You").nth(1), "More actions")
    chat.button("Condense from here to …").click()
    pick_ends(chat, dialog)
    chat.act(chat.rows("You").nth(1), "More actions")
    chat.button("Condense from here to …").click()
    dialog.get_by_role("button", name="Condense these").click()
    expect(dialog).to_have_count(0)
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
