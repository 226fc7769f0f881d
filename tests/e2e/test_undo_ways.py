"""Undo that always has a way, Not now that is kept or told, and the window a provider names."""

import re

from playwright.sync_api import expect

from tests.e2e.accessibility import complaints
from tests.e2e.conftest import OpenChat
from tests.e2e.words import PASSWORD, long, summary
from tests.standin.behaviours import Failure, Reply
from tests.standin.server import Standin


def test_what_does_not_fit_any_more_can_be_had_back_in_three_ways(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The button says so, the numbers and the ways stand below it, and each does as it says."""
    chat = open_chat(window=9_000, max_output=1_000)
    standin.then(*[Reply("Noted.")] * 2, summary(), *[Reply("Yes.")] * 2)
    chat.ask(long(PASSWORD, times=2))
    chat.ask(long("More.", times=1))
    chat.ask(long("And more.", times=2))
    row = chat.rows("Context condensed")
    chat.ask(long("Still more.", times=1))
    chat.open()
    undo, said = (
        row.get_by_role("button", name="Undo condensation"),
        chat.log.get_by_text("Noted."),
    )
    before = said.count()
    undo.click()
    ways = row.get_by_role("dialog", name=re.compile(r"need ≈ [\d,]+ tokens; 8,000 fit\."))
    expect(ways).to_be_in_viewport()
    assert complaints(chat.page) == []
    chat.page.keyboard.press("Escape")
    expect(ways).to_be_hidden()
    expect(undo).to_be_focused()
    undo.click()
    refusal = "The files could not be copied, so nothing was forked."
    branching = re.compile("/undo/branch/")
    chat.page.route(branching, lambda route: route.fulfill(status=422, body=refusal), times=1)
    ways.get_by_role("button", name="Branch with the originals").click()
    expect(ways.get_by_role("alert")).to_have_text(refusal)
    ways.get_by_text("Put back only…").click()
    put_back = ways.get_by_role("button", name="Put back")
    expect(put_back).to_be_disabled()
    ways.get_by_role("checkbox", name=PASSWORD).check()
    ways.get_by_role("checkbox", name=PASSWORD).uncheck()
    ways.get_by_role("checkbox", name="Noted.").first.check()
    expect(ways.get_by_text(re.compile(r"of 1,\d{3} tokens"))).to_be_visible()
    put_back.click()
    expect(said).to_have_count(before + 1)
    expect(ways).to_be_hidden()
    row.get_by_role("button", name="Undo condensation").click()
    ways.get_by_role("button", name="Switch to").first.click()
    expect(row).to_contain_text("Undone")
    expect(chat.page.locator(".profile-choice")).to_contain_text("Offline")


def test_not_now_says_how_long_it_can_wait_and_a_promise_that_breaks_is_told(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The notice never hides how full it is; the fold says why it did not wait."""
    chat = open_chat(window=9_000, max_output=1_000)
    standin.then(*[Reply("Noted.")] * 2, summary(), Reply("Yes."))
    chat.ask(long(PASSWORD, times=3))
    chat.ask(long("More."))
    due = chat.page.get_by_role("group", name="Condensing")
    expect(due).to_contain_text(re.compile(r"Can wait for about [\d,]+ more tokens\."))
    chat.button("Not now").click()
    expect(due).to_contain_text(re.compile(r"About .* fit\. Won't condense this turn\."))
    chat.ask(long("And now?", times=2))
    row = chat.rows("Context condensed")
    expect(row).to_contain_text(
        re.compile(
            r"You asked to wait; condensing could not wait: the next request "
            r"\([\d,]+ tokens\) would not fit in 8,000\."
        )
    )
    expect(chat.page.get_by_text("Won't condense this turn.")).to_have_count(0)


def test_the_window_that_the_provider_names_is_set_with_one_button(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The bar goes by it at once; the row says both windows until they are the same."""
    chat = open_chat(window=60_000, max_output=1_000)
    too_long = "prompt is too long: 9250 tokens > 9000 maximum"
    refused = Failure(400, "invalid_request_error", too_long)
    standin.then(*[Reply("Noted.")] * 2, refused, summary(), Reply("Yes."))
    for topic in (PASSWORD, "More.", "And now?"):
        chat.ask(long(topic))
    offer = chat.rows("Context condensed").get_by_text(
        "This model takes 9,000 tokens, your profile"
    )
    expect(offer).to_contain_text("says 60,000.")
    expect(chat.meter).to_have_accessible_description(re.compile("7,100"))
    chat.button("Set to 9,000").click()
    expect(offer).to_have_count(0)
