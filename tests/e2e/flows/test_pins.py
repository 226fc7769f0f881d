"""A message is pinned from its actions, and outlives a condensation word for word."""

from playwright.sync_api import expect

from tests.e2e.flows.chat import texts
from tests.e2e.flows.conftest import OpenChat
from tests.e2e.flows.words import PASSWORD, long, summary
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

MARK = "Pinned: the model keeps this word for word"


def test_what_is_pinned_is_sent_word_for_word_after_a_condensation(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The mark comes at once and stays, also on the hidden message, until it is unpinned."""
    chat = open_chat()
    rule = "Port 8080 must never change."
    standin.then(Reply("Understood."), Reply("Noted."), summary(), Reply("As you said."))
    chat.ask(rule)
    chat.ask(long(PASSWORD))
    said = chat.rows("You").first
    chat.act(said, "Pin")
    expect(said.get_by_text(MARK)).to_be_visible()
    chat.button("Condense context").click()
    expect(chat.rows("Context condensed")).to_be_visible()
    chat.finished()
    chat.ask("Which port?")
    sent = "\n".join(texts(standin.requests[-1].body))
    assert "## Pinned Message, Verbatim (user, " in sent
    assert f")\n{rule}" in sent
    chat.open()
    chat.act(said, "Unpin")
    expect(said.get_by_text(MARK)).to_have_count(0)
