"""Condensing as a person sees it: by itself, by hand, put off, drafted, cancelled, and undone."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.accessibility import complaints
from tests.e2e.chat import HEADING, Chat, figures, texts, wants_summary
from tests.e2e.conftest import OpenChat, OpenPage
from tests.e2e.server import SETTINGS, Desk
from tests.e2e.words import PASSWORD, SMALL, long, summary
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin


def due(chat: Chat) -> Locator:
    """What the composer says of the next condensation."""
    return chat.page.get_by_role("group", name="Condensing")


def test_a_long_conversation_condenses_by_itself_and_goes_on(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The status shows while it runs, a row with its figures remains, and the summary is sent."""
    chat, gate = open_chat(**SMALL), Gate()
    standin.then(Reply("Noted."), summary(gate), Reply("It is heliotrope-42."))
    chat.ask(long(PASSWORD))
    chat.type(long("What is the password?"))
    expect(chat.status("Condensing context…")).to_be_visible()
    expect(chat.page.get_by_text("tokens written")).to_be_visible()
    gate.open()
    chat.finished()
    expect(chat.rows("Agent").last).to_contain_text("It is heliotrope-42.")
    assert wants_summary(standin.requests[1].body)
    asked = texts(standin.requests[2].body)
    assert asked[0].startswith(HEADING)
    assert PASSWORD in asked[0]
    assert asked[0].endswith(long("What is the password?"))
    row = chat.rows("Context condensed")
    expect(row).to_have_count(1)
    before, after = figures(row)
    assert after < before
    expect(row.get_by_role("heading").first).to_have_text("Condensed 2 messages")
    for fact in (r"\$0\.0*[1-9]", r"\d s\b", "automatic · limit of 3,200 tokens reached"):
        expect(row).to_contain_text(re.compile(fact))
    row.get_by_role("button", name="View").click()
    expect(row.locator("strong", has_text=PASSWORD)).to_be_visible()
    # What was hidden begins with the user's own words, and so does the message.
    chat.page.route(re.compile("/hidden/"), lambda route: route.abort(), times=1)
    row.get_by_text("What was hidden").click()
    expect(chat.page.get_by_text("The server can't be reached.")).to_be_visible()
    row.get_by_text("What the model reads").click()
    row.get_by_text("What was hidden").click()
    expect(row.locator("summary", has_text="You").first).to_have_text(
        re.compile(f"^You *{PASSWORD}")
    )
    said = chat.rows("You").last
    expect(said.get_by_text("Current time")).to_be_hidden()
    said.hover()
    said.get_by_role("button", name="tokens").click()
    expect(said.get_by_text("Current time")).to_be_visible()
    chat.page.keyboard.press("Escape")
    expect(chat.log.get_by_role("link", name="Hidden by a condensation")).to_have_count(1)
    assert chat.color(chat.rows("You").first) != chat.color(chat.rows("You").last)


def test_the_button_says_what_it_would_do_or_why_it_does_nothing(
    open_chat: OpenChat, standin: Standin
) -> None:
    """On hover and on focus, also to those who hear the page; Esc puts the words away."""
    chat, gate = open_chat(), Gate()
    button, tip = chat.button("Condense context"), chat.page.get_by_role("tooltip")
    expect(button).to_be_disabled()
    expect(button).to_have_accessible_description(re.compile("^There is nothing to condense yet"))
    expect(tip).to_be_hidden()
    button.hover()
    expect(tip).to_contain_text("There is nothing to condense yet")
    chat.page.mouse.move(300, 300)
    expect(tip).to_be_hidden()
    button.press("Enter")
    expect(tip).to_be_visible()
    chat.page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    standin.then(Reply("Noted."), summary(gate))
    chat.ask(long(PASSWORD))
    expect(chat.rows("Condensation failed")).to_have_count(0)
    # On a phone the words do not lie over the button.
    chat.page.set_viewport_size({"width": 360, "height": 800})
    button.hover()
    expect(tip).to_contain_text("Replaces up to 2 messages with a summary.")
    expect(tip).to_contain_text("Nothing is deleted, and you can undo it.")
    mark = chat.page.locator("#chat-head").get_by_text("Condensing…")
    expect(mark).to_be_hidden()
    # Pressed twice is the same wish.
    button.dblclick()
    chat.page.set_viewport_size({"width": 1280, "height": 800})
    expect(mark).to_be_visible()
    # The pointer rests on it, and nothing opens by itself.
    expect(tip).to_be_hidden()
    chat.page.mouse.move(300, 300)
    button.hover()
    expect(tip).to_have_text("The context is being condensed now.")
    chat.button("Cancel").focus()
    cancel = chat.button("Cancel").element_handle()
    for seen in ("tokens written", "1 s", "2 s"):
        expect(chat.page.locator("#condensing").get_by_text(seen, exact=False)).to_be_visible()
    expect(chat.button("Cancel")).to_be_focused()
    assert cancel.evaluate("button => button.isConnected")
    announced = chat.page.get_by_role("status").filter(has_text="Condensing context…")
    expect(announced).to_have_count(1)
    gate.open()
    chat.finished()
    expect(chat.box).to_be_focused()
    expect(mark).to_be_hidden()
    expect(chat.rows("Context condensed")).to_have_count(1)
    expect(chat.alert).to_have_count(0)
    assert len(standin.requests) == 2
    expect(button).to_be_disabled()
    expect(button).to_have_accessible_description("Nothing new to condense yet.")


def test_a_refused_summary_and_what_replaced_it_are_one_band_in_view(
    open_chat: OpenChat, standin: Standin
) -> None:
    """Its reason is inside, facts are lists, and the notice has the button that undoes it."""
    chat, refused = open_chat(), Reply("<summary>It was about a vault.</summary>")
    standin.then(Reply("Noted. " * 150), Reply("So it is. " * 150), refused, refused)
    chat.ask(long(PASSWORD, times=3))
    chat.ask("Use port 8443 and British spelling.")
    chat.page.mouse.move(600, 300)
    chat.page.mouse.wheel(0, -9_000)
    fold = chat.condense()
    expect(fold).to_have_count(1)
    for said in ("summary refused", "→", "$0.0"):
        expect(fold.get_by_role("paragraph").get_by_text(said).first).to_be_in_viewport()
    expect(chat.rows("Condensation failed")).to_have_count(0)
    expect(chat.button("Undo")).to_have_count(1)
    fold.get_by_role("button", name="View").click()
    reason = "the model's summary was refused: It has 0 of 9 sections"
    expect(fold.get_by_text(f"without a model ({reason}")).to_be_in_viewport()
    fold.get_by_text("Show the refused summary").click()
    expect(fold.get_by_text("It was about a vault.")).to_be_in_viewport()
    expect(fold.get_by_role("heading", name="Your words")).to_be_visible()
    expect(fold.get_by_role("listitem").filter(has_text="Use port 8443")).to_be_visible()
    expect(fold.get_by_text("## Ledger")).to_have_count(0)
    chat.page.get_by_role("region", name="Notifications").get_by_role("button", name="Undo").click()
    expect(fold.get_by_text("Undone: the model reads the originals")).to_be_visible()
    expect(fold.get_by_text("What the model read", exact=True)).to_be_attached()
    expect(fold.get_by_role("heading", name="Your words")).to_be_hidden()


def test_condensing_by_hand_can_be_cancelled_done_again_and_undone(
    open_chat: OpenChat, standin: Standin
) -> None:
    """Each is on record; in the end the model gets the originals, word for word."""
    chat, gate = open_chat(), Gate()
    standin.then(Reply("Noted."), summary(gate), Reply("Still here."), summary(), Reply("All."))
    chat.ask(long(PASSWORD))
    chat.button("Condense context").click()
    assert gate.wait_until_reached()
    chat.page.reload()
    expect(chat.status("Condensing context…")).to_be_visible()
    expect(chat.button("Condense context")).to_be_disabled()
    chat.button("Cancel").click()
    expect(chat.rows("Condensation cancelled")).to_be_visible()
    expect(chat.button("Cancel")).to_have_count(0)
    chat.finished("Condensation cancelled")
    assert complaints(chat.page) == []
    chat.ask("Are you there?")
    assert PASSWORD in texts(standin.requests[2].body)[0]
    row = chat.condense()
    expect(row).to_contain_text("by you")
    chat.act(row, "Undo condensation")
    expect(row).to_contain_text("Undone")
    expect(chat.button("Undo condensation")).to_have_count(0)
    expect(chat.log.get_by_role("link", name="Hidden by a condensation")).to_have_count(0)
    chat.ask("And now?")
    sent = texts(standin.requests[-1].body)
    assert [sent[0], *sent[-1:]] == [long(PASSWORD), "And now?"]


def test_near_the_threshold_the_page_says_so_and_the_next_condensation_is_timed_there(
    open_chat: OpenChat, standin: Standin
) -> None:
    """It is put off by a turn with "Not now"; pressed while a turn runs, it follows the step."""
    chat, gate = open_chat(**SMALL), Gate()
    standin.then(Reply("Noted."), Reply("All of it is heliotrope.", gate=gate), summary())
    chat.ask(long(PASSWORD))
    expect(due(chat)).to_contain_text("Condenses in about")
    expect(chat.button("Now")).to_be_visible()
    chat.button("Not now").press("Enter")
    expect(due(chat)).to_contain_text("Won't condense this turn.")
    expect(chat.button("Now")).to_be_focused()
    chat.type(long("What is the password?"))
    expect(chat.rows("Agent").last).to_contain_text("All")
    expect(chat.button("Now")).to_be_hidden()
    chat.button("After this step").click()
    condensing = chat.page.locator("#condensing")
    expect(condensing).to_contain_text("Condenses after this step.")
    expect(due(chat)).to_have_count(0)
    gate.open()
    expect(chat.rows("Context condensed")).to_contain_text("by you")
    chat.finished()
    expect(chat.rows("Agent").last).to_contain_text("All of it is heliotrope.")
    assert [wants_summary(one.body) for one in standin.requests] == [False, False, True]


@pytest.fixture
def by_hand(desk: Desk) -> Iterator[None]:
    """Have nothing condensed unasked; in the end it is as it was."""
    desk.post("/settings/", **{**SETTINGS, "auto_condense": ""})
    yield
    desk.post("/settings/", **SETTINGS)


@pytest.mark.usefixtures("by_hand")
def test_a_fold_is_one_line_until_it_is_opened(open_chat: OpenChat, standin: Standin) -> None:
    """One without a summary says why; the one that a person then asks for opens to its titles."""
    chat = open_chat(window=10_000, max_output=500)
    standin.then(*[Reply("Noted.")] * 3, summary())
    for _time in range(3):
        chat.ask(long(PASSWORD, times=2))
    cut = chat.rows("Context truncated")
    expect(cut.get_by_role("heading")).to_have_text(re.compile(r"^\d messages hidden$"))
    expect(cut).to_contain_text("Without a summary: automatic condensing is off")
    chat.page.set_viewport_size({"width": 1440, "height": 900})
    assert height(cut) <= 48
    chat.page.set_viewport_size({"width": 360, "height": 800})
    assert height(cut) <= 72
    chat.choose(cut, "Summarise them now")
    row = chat.rows("Context condensed")
    for width, most in ((1440, 48), (360, 72)):
        chat.page.set_viewport_size({"width": width, "height": 800})
        row.get_by_role("button", name="More").hover()
        assert height(row) <= most
    row.get_by_role("button", name="View").click()
    expect(row.get_by_role("heading", name="Current Work")).to_be_visible()
    expect(row.get_by_text("Nothing on: Pending Tasks")).to_be_visible()
    expect(row).not_to_contain_text("hidden from the model, not gone")


def test_a_persons_first_fold_says_more_once_it_is_opened(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """That nothing is gone; no words are there twice."""
    row = open_page(addresses["rows"]).get_by_role("article", name="Context condensed")
    said = row.get_by_text("hidden from the model, not gone")
    assert height(row) <= 48
    expect(said).to_be_hidden()
    row.get_by_role("button", name="View").click()
    expect(said).to_be_visible()
    expect(row).not_to_contain_text("3 messages hidden")
    expect(row.get_by_role("textbox", name="Why")).to_have_value("")


def height(row: Locator) -> float:
    """Return how high a row is, in pixels."""
    return float(row.evaluate("one => one.getBoundingClientRect().height"))


# With what was said before, it is over the threshold.
MEANWHILE = f"Can we go on? {' '.join(map(str, range(100, 200)))}"


@pytest.fixture
def drafting(desk: Desk) -> Iterator[None]:
    """Have summaries drafted early; in the end it is as it was."""
    desk.post("/settings/", **SETTINGS, draft_ahead="always", draft_share="60")
    yield
    desk.post("/settings/", **SETTINGS, draft_ahead="free", draft_share="80")


@pytest.mark.usefixtures("drafting")
def test_a_person_sees_a_summary_drafted_and_swapped_in(
    open_chat: OpenChat, desk: Desk, standin: Standin
) -> None:
    """The conversation goes on meanwhile."""
    chat, gate = open_chat(**SMALL), Gate()
    standin.then(Reply("Noted."), summary(gate), Reply("Of course."), Reply("heliotrope-42"))
    chat.ask(long(PASSWORD))
    expect(due(chat)).to_contain_text("drafted")
    assert gate.wait_until_reached()
    chat.ask(MEANWHILE)
    expect(chat.rows("Agent").last).to_contain_text("Of course.")
    expect(due(chat)).to_contain_text("Condenses once the summary is drafted.")
    gate.open()
    expect(due(chat)).to_contain_text(
        "Your next message will condense the context first, without a wait."
    )
    expect(chat.rows("Context condensed")).to_have_count(0)
    # One draft is enough here.
    desk.post("/settings/", **SETTINGS, draft_ahead="never")
    chat.type("What is the password?")
    expect(chat.rows("Agent").last).to_contain_text("heliotrope-42")
    chat.finished()
    expect(chat.rows("Context condensed")).to_contain_text("drafted in the background")
    assert [wants_summary(one.body) for one in standin.requests] == [False, True, False, False]


def test_the_bar_that_is_read_is_never_left_behind(open_chat: OpenChat, standin: Standin) -> None:
    """It takes every change, and stays open where the focus is; what is typed there is kept.

    Nothing is condensed without those words, and the page that is loaded anew has them.
    """
    chat = open_chat(window=6_000)
    standin.then(Reply("Noted. " * 200), Reply("Again. " * 200))
    meter, other = chat.meter, chat.second()
    chat.page.bring_to_front()
    chat.button("What must be kept?").click()
    words = chat.page.get_by_role("textbox", name="What must be kept?")
    expect(words).to_be_focused()
    words.fill("the password")
    said_elsewhere(other, meter)
    expect(words).to_have_value("the password")
    chat.page.keyboard.press("Escape")
    chat.page.reload()
    chat.button("Condense context").click()
    expect(words).to_be_focused()
    expect(words).to_have_value("the password")
    # At the button, not in the corner of the page.
    button, box = chat.button("Condense context").bounding_box(), words.bounding_box()
    assert button is not None
    assert box is not None
    assert box["x"] > button["x"] / 2
    chat.page.keyboard.press("Escape")
    meter.click()
    said_elsewhere(other, meter)
    expect(chat.page.locator("#context-bar details[open] summary")).to_be_focused()


def said_elsewhere(other: Chat, meter: Locator) -> None:
    """Say something in another tab, and see the bar follow."""
    before = meter.get_attribute("aria-valuetext") or ""
    other.ask("Say it.")
    # What it shows in the end; meanwhile there were others.
    other.open()
    now = other.meter.get_attribute("aria-valuetext") or ""
    assert now != before
    expect(meter).to_have_attribute("aria-valuetext", now)
