"""When the provider fails: what a person is told, what is kept, and that it ends."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.chat import freeze, wants_summary
from tests.e2e.conftest import OpenChat
from tests.e2e.words import PASSWORD, long, summary
from tests.standin.behaviours import Failure, Gate, Reply, rate_limited
from tests.standin.server import Standin

NO_SUMMARY = Failure(400, "invalid_request_error", "This model writes no summaries")

# Notes what the page says beside the answer, however short.
NOTE = """() => {
    window.said = [];
    const look = () => {
        const [notice, status] = ["notice", "status"].map((id) => document.getElementById(id));
        window.said.push(notice.innerText, status.innerText);
    };
    new MutationObserver(look).observe(document.body, {
        childList: true, characterData: true, subtree: true,
    });
}"""


def test_a_rate_limit_is_counted_down_and_then_forgotten(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The notice goes as soon as the answer begins."""
    chat, gate = open_chat(), Gate()
    chat.page.evaluate(NOTE)
    standin.then(rate_limited(1), Reply("Better late than never.", gate=gate))
    chat.type("Hello.")
    expect(chat.rows("Agent")).to_contain_text("Better late")
    expect(chat.page.get_by_text("The provider's rate limit is reached.")).to_have_count(0)
    gate.open()
    chat.finished()
    said = "\n".join(chat.page.evaluate("window.said"))
    assert re.search(r"rate limit is reached\.[^\n]*\s+Trying again in 1 s\.", said)
    assert "Trying again: 2 of 5" in said


def test_a_failure_has_details_to_copy_and_can_be_tried_again(
    own_page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """The details name the provider's own words; Retry condenses."""
    chat = open_chat(page=own_page)
    own_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    standin.then(Reply("Noted."), NO_SUMMARY, summary())
    chat.ask(long(PASSWORD))
    chat.button("Condense context").click()
    failed = chat.rows("Condensation failed")
    expect(failed).to_contain_text("This model writes no summaries. Nothing was changed.")
    failed.get_by_text("Details", exact=True).click()
    expect(failed.get_by_text("HTTP status: 400")).to_be_visible()
    chat.finished("Condensation failed")
    freeze(chat.page)
    chat.act(failed, "Copy")
    expect(failed.get_by_role("button", name="Copied")).to_be_visible()
    assert "This model writes no summaries" in chat.page.evaluate("navigator.clipboard.readText()")
    chat.act(failed, "Retry")
    expect(chat.rows("Context condensed")).to_be_visible()
    chat.finished()
    assert wants_summary(standin.requests[-1].body)
