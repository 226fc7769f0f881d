"""Condensing as a person sees it: by itself, by hand, cancelled, and undone."""

import re

from playwright.sync_api import Page, Route, expect

from tests.e2e.flows.chat import HEADING, Chat, figures, texts, wants_summary
from tests.e2e.flows.conftest import OpenChat
from tests.e2e.flows.words import PASSWORD, SMALL, long, summary
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin


def test_a_long_conversation_condenses_by_itself_and_goes_on(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The band shows while it runs, the row remains, and the answer comes from the summary."""
    chat, gate = open_chat(**SMALL), Gate()
    standin.then(Reply("Noted."), summary(gate), Reply("It is heliotrope-42."))
    chat.ask(long(PASSWORD))
    chat.type(long("What is the password?"))
    expect(chat.status("Condensing context…")).to_be_visible()
    expect(chat.page.get_by_text("tokens written")).to_be_visible()
    gate.open()
    chat.finished()
    expect(chat.rows("Agent").last).to_contain_text("It is heliotrope-42.")
    expect(chat.rows("Context condensed")).to_have_count(1)
    assert wants_summary(standin.requests[1].body)
    asked = texts(standin.requests[2].body)
    assert asked[0].startswith(HEADING)
    assert PASSWORD in asked[0]
    assert asked[0].endswith(long("What is the password?"))


def test_an_answer_stands_once_where_the_transcript_is_fetched_late(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """The rows that a condensation changed may have the reply before its text has arrived."""
    chat = open_chat(**SMALL)
    standin.then(Reply("Noted."), summary(), Reply("The flower is heliotrope-42."))
    chat.ask(long(PASSWORD))
    late, held = Gate(), list[Route]()

    def hold(route: Route) -> None:
        held.append(route) if not late.is_open else route.continue_()

    page.route("**/transcript/", hold)
    other = Chat(page.context.new_page(), chat.url)
    chat.type(long("What is the password?"))
    other.finished()
    expect(other.rows("Agent").last).to_contain_text("The flower is")
    page.evaluate(
        """() => {
            window.most = 0;
            const look = () => {
                const rows = [...document.querySelectorAll("article.message-assistant")];
                const said = rows.filter((row) => row.textContent.includes("The flower is"));
                window.most = Math.max(window.most, said.length);
                requestAnimationFrame(look);
            };
            look();
        }"""
    )
    late.open()
    for route in held:
        route.continue_()
    chat.finished()
    expect(chat.rows("Agent").last).to_contain_text("The flower is")
    expect(chat.log.locator("[data-finished]")).to_have_count(0)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.most") == 1


def test_a_condensation_leaves_a_row_with_its_figures_and_its_summary(
    open_chat: OpenChat, standin: Standin
) -> None:
    """Tokens before and after, cost, duration and trigger; what it hides is marked above it."""
    chat = open_chat(**SMALL)
    standin.then(Reply("Noted."), summary(), Reply("Well."))
    chat.ask(long(PASSWORD))
    chat.ask(long("What is the password?"))
    row = chat.rows("Context condensed")
    before, after = figures(row)
    assert after < before
    for fact in (r"\$0\.0*[1-9]", r"\d s\b", r"automatic at 30 %: [\d,]+ of 10,000"):
        expect(row).to_contain_text(re.compile(fact))
    row.get_by_text("Summary", exact=True).click()
    expect(row.locator("strong", has_text=PASSWORD)).to_be_visible()
    expect(chat.log.get_by_role("link", name="Hidden by a condensation")).to_have_count(1)
    hidden, seen = chat.rows("You").first, chat.rows("You").last
    assert chat.color(hidden) != chat.color(seen)


def test_condensing_by_hand_can_be_cancelled_and_done_again(
    open_chat: OpenChat, standin: Standin
) -> None:
    """Cancelling ends it at once, is on record, and leaves the conversation as it was."""
    chat, gate = open_chat(), Gate()
    standin.then(Reply("Noted."), summary(gate), Reply("Still here."), summary())
    chat.ask(long(PASSWORD))
    chat.button("Condense context").click()
    assert gate.wait_until_reached()
    chat.button("Cancel").click()
    expect(chat.rows("Condensation cancelled")).to_be_visible()
    expect(chat.button("Cancel")).to_have_count(0)
    chat.finished()
    chat.ask("Are you there?")
    assert PASSWORD in texts(standin.requests[2].body)[0]
    chat.button("Condense context").click()
    expect(chat.rows("Context condensed")).to_contain_text("by you")
    chat.finished()


def test_the_band_counts_in_place_and_leaves_the_focus_where_it_is(
    open_chat: OpenChat, standin: Standin
) -> None:
    """Its button is the same from start to end; what goes on is announced in one place."""
    chat, gate = open_chat(), Gate()
    standin.then(Reply("Noted."), summary(gate))
    chat.ask(long(PASSWORD))
    chat.button("Condense context").click()
    chat.button("Cancel").focus()
    button = chat.button("Cancel").element_handle()
    for seen in ("tokens written", "1 s", "2 s"):
        expect(chat.page.locator("#condensing").get_by_text(seen, exact=False)).to_be_visible()
    expect(chat.button("Cancel")).to_be_focused()
    assert button.evaluate("button => button.isConnected")
    announced = chat.page.get_by_role("status").filter(has_text="Condensing context…")
    expect(announced).to_have_count(1)
    gate.open()
    chat.finished()
    expect(chat.box).to_be_focused()


def test_a_condensation_by_hand_can_have_a_focus(open_chat: OpenChat, standin: Standin) -> None:
    """It is typed beside the button and reaches the model; the bar goes on meanwhile."""
    chat = open_chat()
    standin.then(Reply("Noted."))
    chat.ask(long(PASSWORD))
    chat.button("Keep especially…").click()
    words = chat.page.get_by_role("textbox", name="Keep especially")
    expect(words).to_be_focused()
    words.fill("the vault's password")
    before = chat.meter.get_attribute("aria-valuetext") or ""
    other = Chat(chat.page.context.new_page(), chat.url)
    standin.reply("And this.")
    other.ask(long("One more thing."))
    expect(chat.meter).not_to_have_attribute("aria-valuetext", before)
    chat.page.bring_to_front()
    if not words.is_visible():
        chat.button("Keep especially…").click()
    expect(words).to_have_value("the vault's password")
    standin.then(summary())
    chat.button("Condense, keeping this").click()
    expect(chat.rows("Context condensed")).to_be_visible()
    chat.finished()
    assert "the vault's password" in texts(standin.requests[-1].body)[-1]


def test_an_undone_condensation_stays_on_record_and_the_originals_are_back(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The model gets them word for word; the row can't be undone a second time."""
    chat = open_chat()
    standin.then(Reply("Noted."), summary(), Reply("I see it all again."))
    chat.ask(long(PASSWORD))
    chat.button("Condense context").click()
    row = chat.rows("Context condensed")
    expect(row).to_be_visible()
    chat.finished()
    chat.act(row, "Undo condensation")
    expect(row).to_contain_text("Undone")
    expect(chat.button("Undo condensation")).to_have_count(0)
    expect(chat.log.get_by_role("link", name="Hidden by a condensation")).to_have_count(0)
    chat.ask("And now?")
    assert texts(standin.requests[2].body) == [long(PASSWORD), "Noted.", "And now?"]
