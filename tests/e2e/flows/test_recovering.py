"""What happens when the provider refuses the prompt, or the summary."""

from playwright.sync_api import expect

from tests.e2e.flows.chat import HEADING, freeze, texts, wants_summary
from tests.e2e.flows.conftest import OpenChat
from tests.e2e.flows.words import PASSWORD, long, summary
from tests.standin.behaviours import OVERFLOW, Failure, Reply
from tests.standin.server import Standin

NO_SUMMARY = Failure(400, "invalid_request_error", "This model writes no summaries")
# The third message does not fit, and half of what is before it may be hidden.
TIGHT = {"window": 8_400, "max_output": 400}


def test_a_prompt_that_the_provider_calls_too_long_is_condensed_and_answered(
    open_chat: OpenChat, standin: Standin
) -> None:
    """Its word counts, whatever the estimate was."""
    chat = open_chat()
    standin.then(Reply("Noted."), OVERFLOW, summary(), Reply("Heliotrope."))
    chat.ask(long(PASSWORD))
    chat.ask("Which flower?")
    row = chat.rows("Context condensed")
    expect(row).to_contain_text("the provider said the prompt was too long")
    expect(chat.rows("Agent").last).to_contain_text("Heliotrope.")
    expect(chat.alert).to_have_count(0)
    assert texts(standin.requests[-1].body)[0].startswith(HEADING)


def test_a_summary_that_fails_is_on_record_and_the_facts_stand_in_for_it(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The failure says what happened instead; the answer arrives all the same."""
    chat = open_chat(**TIGHT)
    standin.then(Reply("Hello."), Reply("Noted."), NO_SUMMARY, Reply("Here I am."))
    chat.ask("Good morning.")
    chat.ask(long("One:", times=3))
    chat.ask(long("Two:", times=3))
    failed, condensed = chat.rows("Condensation failed"), chat.rows("Context condensed")
    expect(failed).to_contain_text("This model writes no summaries")
    expect(failed).to_contain_text("Condensed instead (ledger, without a model): 4")
    expect(condensed).to_have_count(1)
    expect(chat.rows("Agent").last).to_contain_text("Here I am.")
    assert long("One:", times=3) not in texts(standin.requests[-1].body)


def test_a_failure_has_details_to_copy_and_can_be_tried_again(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The details name the provider's own words; Retry condenses."""
    chat = open_chat()
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    standin.then(Reply("Noted."), NO_SUMMARY, summary())
    chat.ask(long(PASSWORD))
    chat.button("Condense context").click()
    failed = chat.rows("Condensation failed")
    failed.get_by_text("Details", exact=True).click()
    expect(failed.get_by_text("HTTP status: 400")).to_be_visible()
    chat.finished("Failed.")
    freeze(chat.page)
    chat.act(failed, "Copy")
    expect(failed.get_by_role("button", name="Copied")).to_be_visible()
    assert "This model writes no summaries" in chat.page.evaluate("navigator.clipboard.readText()")
    chat.act(failed, "Retry")
    expect(chat.rows("Context condensed")).to_be_visible()
    chat.finished()
    assert wants_summary(standin.requests[-1].body)
