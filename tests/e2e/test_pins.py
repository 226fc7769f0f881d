"""Pins: messages, passages and rules that outlive a condensation; and what is forgotten."""

import re

from playwright.sync_api import expect

from tests.e2e.chat import texts
from tests.e2e.conftest import OpenChat
from tests.standin.behaviours import Reply
from tests.standin.server import Standin


def test_a_passage_and_a_rule_are_pinned_and_listed(open_chat: OpenChat, standin: Standin) -> None:
    """What is selected has a button below it; rules are typed in the conversation's settings.

    The mark of a whole message comes at once, and goes.
    """
    chat = open_chat()
    standin.then(Reply("The port is **8080**, and it stays."), Reply("As you said."))
    chat.ask("Which port?")
    asked = chat.rows("You").first
    mark = asked.get_by_text("Pinned: the model keeps this word for word")
    chat.act(asked, "Pin")
    expect(mark).to_be_visible()
    # The row that was drawn anew has the focus, and the next key goes on there.
    expect(asked).to_be_focused()
    chat.act(asked, "Unpin")
    expect(mark).to_have_count(0)
    said = chat.rows("Agent").locator(".prose p")
    button = chat.button("Pin selection")
    expect(button).to_be_hidden()
    said.evaluate("one => getSelection().selectAllChildren(one)")
    button.click()
    passage = chat.rows("You").last
    expect(passage).to_contain_text("A passage of message 2")
    expect(passage).to_contain_text("The port is **8080**, and it stays.")
    expect(button).to_be_hidden()
    chat.button("More").click()
    chat.page.get_by_role("link", name="Conversation settings").click()
    pins = chat.page.locator("#pins").get_by_role("listitem")
    expect(pins).to_have_count(1)
    chat.page.get_by_role("textbox", name="A rule of your own").fill("Never use port 80.")
    chat.button("Pin rule").click()
    expect(pins).to_have_count(2)
    chat.open()
    expect(chat.rows("You").last).to_contain_text("Your rule")
    chat.ask("Why?")
    sent = "\n".join(texts(standin.requests[-1].body))
    assert "\nThe port is **8080**, and it stays.\n" in sent
    assert "\nNever use port 80.\n" in sent


def test_what_is_forgotten_leaves_the_name_of_its_conversation(
    open_chat: OpenChat, standin: Standin
) -> None:
    """In every tab at once: above the chat, on the tab and in the list.

    To go back to before that says in advance that it is read again, and afterwards.
    """
    chat = open_chat()
    standin.then(Reply("Noted."), Reply("As you wish."))
    chat.ask("The gate opens with 4711.")
    other = chat.second()
    expect(other.page).to_have_title(re.compile("4711"))
    chat.ask("Forget that the gate opens with 4711.")
    for page in (chat.page, other.page):
        expect(page.get_by_role("heading", level=1)).not_to_contain_text("4711")
        expect(page).not_to_have_title(re.compile("4711"))
        expect(page.get_by_role("group", name="Latest conversations")).not_to_contain_text("4711")
    chat.act(chat.rows("You").first, "Rewind to before this")
    told = "The model reads again what you had it forget since."
    expect(chat.page.get_by_role("dialog")).to_contain_text(told)
    chat.button("Rewind").click()
    expect(chat.rows("Rewound")).to_contain_text(told)
    chat.button("Undo rewind").click()
    chat.act(chat.rows("You").first, "Edit")
    expect(chat.page.get_by_text(f"Starts a new version. {told}")).to_be_visible()
