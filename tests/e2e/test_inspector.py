"""The inspector: beside the chat, over it, and as pages; what a call was sent is one click away."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import complaints, open_all, problems
from tests.e2e.conftest import OpenChat, OpenPage
from tests.e2e.words import PASSWORD, long, summary
from tests.standin.behaviours import Reply
from tests.standin.server import Standin


def test_the_bar_is_a_button_that_acts_and_its_figures_add_up(
    open_chat: OpenChat, standin: Standin
) -> None:
    """It condenses, asks "What if", and opens the inspector; a profile says the same as it."""
    chat = open_chat(window=9_000, max_output=1_000)
    standin.then(Reply("Noted."), Reply("So it is."), summary())
    chat.ask(long(PASSWORD))
    chat.ask("And now?")
    page, bar = chat.page, chat.page.locator("#context-bar")
    expect(bar.locator("summary")).to_have_text(re.compile(r"\d\.\dk / 9k\s*$"))
    starts = "Condenses at 7,100 tokens (79%): 1,000 reserved, 900 for wrong estimates"
    page.set_viewport_size({"width": 1600, "height": 900})
    for name, heading in (("What if", "What if"), ("Inspector", "The next request")):
        bar.locator("summary").click()
        expect(bar).to_contain_text(starts)
        bar.get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        expect(bar.get_by_role("button", name="Condense")).to_be_hidden()
    total = page.locator(".seen-total").text_content() or ""
    shares = page.locator(".seen-share").all_text_contents()
    known = [int(one.partition("%")[0]) for one in shares if not one.startswith("<")]
    assert f", {sum(known)}%" in total
    page.get_by_role("button", name="Close inspector").click()
    bar.locator("summary").click()
    bar.get_by_role("button", name="Condense").click()
    expect(chat.rows("Context condensed")).to_be_visible()
    page.goto("/profiles/new/")
    page.get_by_label("Context window").fill("9000")
    page.get_by_label("Max output tokens").fill("1000")
    expect(page.get_by_text(starts)).to_be_visible()
    page.get_by_role("radio", name="Own value").check()
    expect(page.get_by_role("slider")).to_have_attribute("max", "79")
    page.goto("/")


@pytest.mark.rare
def test_what_the_model_sees_stands_beside_the_chat(open_chat: OpenChat, standin: Standin) -> None:
    """The next request follows the chat: what is new appears as a turn ends, what was open stays.

    What a call was sent is shown from a message's figures: checked, compared, to be copied; a
    condensation has a page, too. On a phone the inspector lies over the chat, closed with Esc.
    """
    chat = open_chat()
    standin.then(Reply("Noted."), summary())
    standin.reply("It is in the summary.")
    chat.ask(long(PASSWORD))
    chat.condense()
    chat.ask("What was it?")
    page, opener = chat.page, chat.button("Inspector")
    beside = page.get_by_role("complementary", name="Inspector")
    page.set_viewport_size({"width": 1600, "height": 900})
    opener.click()
    expect(beside.get_by_role("heading", name="The next request")).to_be_visible()
    messages = beside.locator("[data-kind=newest]")
    messages.locator("summary").first.click()
    expect(messages).to_contain_text("What was it?")
    chat.ask("And now?")
    expect(messages).to_contain_text("And now?")
    expect(messages).to_have_attribute("open", "")
    expect(beside).to_contain_text("hidden")
    expect(page.locator("#inspector-body")).not_to_have_attribute("aria-busy", "true")
    assert complaints(page) == []
    beside.get_by_role("button", name="Close inspector").click()
    expect(beside).to_be_hidden()
    expect(opener).to_be_focused()
    chat.rows("Agent").last.locator(".figures-open").click()
    page.get_by_role("link", name="What the model saw here").last.click()
    expect(beside).to_contain_text("Matches its hash")
    expect(beside.get_by_role("heading", name="Compared with the previous call")).to_be_visible()
    beside.get_by_role("button", name="Close inspector").click()
    page.set_viewport_size({"width": 360, "height": 780})
    opener.click()
    expect(beside.get_by_role("heading", name="The next request")).to_be_visible()
    assert complaints(page) == []
    page.keyboard.press("Escape")
    expect(beside).to_be_hidden()
    page.goto(f"{chat.url}inspector/")
    page.get_by_role("tab", name="History").click()
    page.get_by_text("As a table").click()
    assert problems(page, 360) == []
    page.get_by_role("table").get_by_role("link").last.click()
    expect(page.get_by_text("Matches its hash")).to_be_visible()
    assert problems(page, 360) == []
    chat.open()
    # What decided, what was tried, what was called and what it cost, what came of it.
    chat.choose(chat.rows("Context condensed"), "Details")
    for heading in ("Decision", "What was tried", "Calls and cost", "Summary", "Record"):
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    open_all(page)
    expect(page.locator(".originals")).to_be_visible()
    assert problems(page, 360) == []
    page.get_by_role("table").first.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Asked for a summary")).to_be_visible()


@pytest.mark.rare
def test_the_inspector_s_tabs_have_what_else_is_known(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """What other settings would do, whether the record is intact, what all of it cost.

    Who answers and the inspector's button stay in the header, however narrow that is. A search
    closes what would lie over it.
    """
    page = open_page(addresses["rows"])
    beside, opener = page.locator("#inspector"), page.get_by_role("button", name="Inspector")
    for width in (1440, 900, 450):
        page.set_viewport_size({"width": width, "height": 800})
        expect(opener.first).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("button", name="Answered by")).to_be_in_viewport(ratio=1)
        if width == 1440:
            opener.click()
            page.get_by_role("tab", name="History").click()
            page.get_by_role("tab", name="History").press("ArrowRight")
            beside.get_by_role("button", name="Compare").click()
            expect(beside).to_contain_text("Nothing new to condense yet.")
            assert complaints(page) == []
            page.get_by_role("tab", name="Record").click()
            expect(beside).to_contain_text("Record intact")
            expect(beside).to_contain_text("Intact means that every entry fits the one before it")
            assert complaints(page) == []
            page.get_by_role("tab", name="Costs").click()
            expect(beside.get_by_role("heading", name="By turn")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#find input")).to_be_focused()
    expect(beside).to_be_hidden()
