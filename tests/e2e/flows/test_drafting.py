"""A summary is drafted in the background: what a person sees of it, and of one that goes stale."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.flows.chat import Chat, wants_summary
from tests.e2e.flows.conftest import OpenChat
from tests.e2e.flows.serving import SETTINGS, Desk
from tests.e2e.flows.words import PASSWORD, SMALL, long, summary
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

# With what was said before, it is over the threshold.
MEANWHILE = f"Can we go on? {' '.join(map(str, range(100, 200)))}"


@pytest.fixture
def wish(desk: Desk) -> Iterator[Callable[[str], None]]:
    """Have summaries drafted early, or not; in the end it is as it was."""

    def choose(drafts: str, share: str = "60") -> None:
        desk.post("/settings/", **SETTINGS, draft_ahead=drafts, draft_share=share)

    yield choose
    choose("free", "80")


def due(chat: Chat) -> Locator:
    """What the composer says of the next condensation."""
    return chat.page.get_by_role("group", name="Condensing")


def test_a_person_sees_a_summary_drafted_swapped_in_and_go_stale(
    open_chat: OpenChat, desk: Desk, standin: Standin, wish: Callable[[str], None]
) -> None:
    """The conversation goes on meanwhile; a draft that cannot be used is in the history."""
    wish("always")
    chat, gate = open_chat(**SMALL), Gate()
    standin.then(Reply("Noted."), summary(gate), Reply("Of course."), Reply("heliotrope-42"))
    chat.ask(long(PASSWORD))
    expect(due(chat)).to_contain_text("drafted")
    assert gate.wait_until_reached()
    chat.ask(MEANWHILE)
    expect(chat.rows("Agent").last).to_contain_text("Of course.")
    expect(due(chat)).to_contain_text("Condenses once the summary is drafted")
    gate.open()
    expect(due(chat)).to_contain_text("Condenses before the model is asked next, without a wait.")
    expect(chat.rows("Context condensed")).to_have_count(0)
    # One draft is enough here.
    wish("never")
    chat.type("What is the password?")
    expect(chat.rows("Agent").last).to_contain_text("heliotrope-42")
    chat.finished()
    expect(chat.rows("Context condensed")).to_contain_text("drafted in the background")
    assert [wants_summary(one.body) for one in standin.requests] == [False, True, False, False]
    wish("always")
    other = Chat(chat.page, desk.new_conversation())
    standin.then(Reply("Noted."), summary())
    other.ask(long(PASSWORD))
    expect(due(other)).to_contain_text("without a wait")
    other.act(other.rows("You").first, "Pin")
    expect(due(other)).not_to_contain_text("without a wait")
    expect(due(other)).to_contain_text("Condenses")
    other.page.goto("/condensations/?outcome=unused")
    expect(other.page.get_by_text("What the draft stands for was changed").first).to_be_visible()
