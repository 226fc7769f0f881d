"""What the page says of the next condensation, and the buttons that time it."""

from playwright.sync_api import expect

from tests.e2e.flows.chat import wants_summary
from tests.e2e.flows.conftest import OpenChat
from tests.e2e.flows.words import PASSWORD, SMALL, long, summary
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin


def test_near_the_threshold_the_page_says_so_and_the_next_condensation_is_timed_there(
    open_chat: OpenChat, standin: Standin
) -> None:
    """It is put off by a turn with "Not now"; pressed while a turn runs, it follows the step."""
    chat, gate = open_chat(**SMALL), Gate()
    standin.then(Reply("Noted."), Reply("All of it is heliotrope.", gate=gate), summary())
    chat.ask(long(PASSWORD))
    due = chat.page.get_by_role("group", name="Condensing")
    expect(due).to_contain_text("Condenses in about")
    expect(chat.button("Now")).to_be_visible()
    chat.button("Not now").press("Enter")
    expect(due).to_contain_text("Condensing is put off by one turn.")
    expect(chat.button("Now")).to_be_focused()
    chat.type(long("What is the password?"))
    expect(chat.rows("Agent").last).to_contain_text("All")
    expect(chat.button("Now")).to_be_hidden()
    chat.button("After this step").click()
    band = chat.page.locator("#condensing")
    expect(band).to_contain_text("Condenses after this step.")
    expect(due).to_have_count(0)
    gate.open()
    expect(chat.rows("Context condensed")).to_contain_text("by you")
    chat.finished()
    expect(chat.rows("Agent").last).to_contain_text("All of it is heliotrope.")
    assert [wants_summary(one.body) for one in standin.requests] == [False, False, True]
