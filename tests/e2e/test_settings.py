"""Settings are saved by a click, said at once, and obeyed by the next turn."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.chat import Chat, texts, wants_summary
from tests.e2e.conftest import OpenChat, OpenPage
from tests.e2e.server import SETTINGS, Desk, Server
from tests.e2e.words import PASSWORD, long, summary
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

OWN_PROMPT = "Write down the password, and nothing else, in a <summary> block."


class Settings:
    """The settings page as a person knows it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        find = page.get_by_role
        self.automatic = find("checkbox", name="Condense automatically")
        self.slider = find("slider", name="Threshold (%)", exact=True)
        self.number = find("spinbutton", name="Threshold (%)", exact=True)
        self.prompt = find("textbox", name="Condensing prompt")
        self.clearing = find("checkbox", name="Clear superseded tool output first")
        self.open()

    def open(self) -> None:
        """Load the page as it is stored."""
        self.page.goto("/settings/")

    def save(self) -> None:
        """Save everything, and see that it was."""
        self.page.get_by_role("button", name="Save", exact=True).click()
        expect(self.page.get_by_text("Settings saved.")).to_be_visible()

    def strategy(self, name: str) -> Locator:
        """The strategy that begins with this name."""
        return self.page.get_by_role("radio", name=name)

    def of_profile(self, name: str) -> Locator:
        """The threshold of one profile."""
        return self.page.get_by_role("group", name=name, exact=True)


@pytest.fixture
def settings_page(open_chat: OpenChat, desk: Desk) -> Iterator[Settings]:
    """The settings page, with a profile to set; everything is put back afterwards."""
    yield Settings(open_chat().page)
    desk.post("/settings/", **SETTINGS)


def condenses_at(chat: Chat) -> str:
    """Return what the context bar says about where condensing starts."""
    return chat.meter.get_attribute("aria-valuetext") or ""


def test_slider_and_number_move_together_and_the_effect_is_said(settings_page: Settings) -> None:
    """Before anything is saved; the bounds are 5 and 100."""
    page, number = settings_page.page, settings_page.number
    number.fill("42")
    expect(settings_page.slider).to_have_value("42")
    settings_page.slider.focus()
    page.keyboard.press("ArrowRight")
    expect(number).to_have_value("43")
    expect(page.get_by_text("Condenses at 43 % of the window")).to_be_visible()
    effect = settings_page.of_profile("Claude").get_by_text("(43 % of the window;")
    expect(effect).to_be_visible()
    expect(page.get_by_text("There are unsaved changes.")).to_be_visible()
    page.keyboard.press("End")
    expect(number).to_have_value("100")
    page.keyboard.press("Home")
    expect(number).to_have_value("5")
    for refused in (False, True):
        number.fill("200")
        if refused:
            page.get_by_role("button", name="Save").click()
            expect(page.locator(".errorlist")).to_be_visible()
            expect(page.get_by_text("There are unsaved changes.")).to_be_visible()
        box = page.locator(".field", has=number)
        expect(box.get_by_text("Enter a number from 5 to 100.")).to_have_count(1)
        expect(page.get_by_text(re.compile("less than or equal|Condenses at 200"))).to_have_count(0)
    number.fill("90")
    expect(page.get_by_text("Enter a number from 5 to 100.")).to_have_count(0)
    expect(page.get_by_text("Condenses at 90 % of the window")).to_be_visible()


def test_leaving_with_changes_asks_and_saving_does_not(open_page: OpenPage) -> None:
    """The notice stands below the header, and covers neither Save nor what is unsaved."""
    page = open_page("/settings/", own=True)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_role("spinbutton", name="Steps per turn").fill("40")
    with page.expect_event("dialog"):
        page.get_by_role("link", name="Profiles").click(no_wait_after=True)
    assert asked == ["beforeunload"]
    page.get_by_role("button", name="Save").click()
    toast = page.locator(".toast", has_text="Settings saved.").bounding_box()
    bar = page.locator(".savebar").bounding_box()
    assert toast
    assert bar
    assert toast["y"] + toast["height"] <= bar["y"]
    expect(page.get_by_role("spinbutton", name="Steps per turn")).to_have_value("40")
    assert asked == ["beforeunload"]


def test_a_link_into_the_settings_leaves_the_page_where_it_is(open_page: OpenPage) -> None:
    """Only what lies in the middle scrolls."""
    page = open_page("/")
    page.goto("/settings/#commands")
    assert page.get_by_role("heading", name="Commands").is_visible()
    assert page.evaluate("[document.documentElement.scrollTop, document.body.scrollTop]") == [0, 0]


def test_the_saved_threshold_is_where_condensing_starts(
    settings_page: Settings, open_chat: OpenChat, standin: Standin
) -> None:
    """The context bar says so, and the record names it."""
    settings_page.number.fill("30")
    settings_page.save()
    settings_page.open()
    expect(settings_page.number).to_have_value("30")
    chat = open_chat(window=10_000, max_output=500)
    assert "Condenses at 3,000 tokens (30 % of the window; 7,000 kept free)" in condenses_at(chat)
    standin.then(Reply("Noted."), summary(), Reply("Heliotrope."))
    chat.ask(long(PASSWORD))
    chat.ask(long("Which flower?"))
    expect(chat.rows("Context condensed")).to_contain_text("automatic at 30 %")


def test_switched_off_nothing_is_summarised_by_itself(
    settings_page: Settings, open_chat: OpenChat, standin: Standin
) -> None:
    """What does not fit is only hidden; no request asks for a summary."""
    settings_page.automatic.uncheck()
    settings_page.save()
    chat = open_chat(window=8_400, max_output=400)
    assert "automatic condensing is off" in condenses_at(chat)
    for words in ("Good morning.", long("One:", times=3), long("Two:", times=3)):
        chat.ask(words)
    expect(chat.rows("Context truncated")).to_be_visible()
    expect(chat.rows("Context condensed")).to_have_count(0)
    assert not any(wants_summary(request.body) for request in standin.requests)


def test_a_profile_has_a_value_of_its_own_and_a_way_back(
    settings_page: Settings, open_chat: OpenChat
) -> None:
    """The bar names which of the two it follows."""
    own = settings_page.of_profile("Claude")
    own.get_by_label("Own value", exact=True).check()
    own.get_by_role("spinbutton", name="Own value for Claude").fill("20")
    expect(own.get_by_text("(20 % of the window;")).to_be_visible()
    settings_page.save()
    chat = open_chat(threshold="20")
    assert "(20 % of the window;" in condenses_at(chat)
    settings_page.open()
    settings_page.number.fill("50")
    own.get_by_label("Inherit").check()
    settings_page.save()
    chat.open()
    assert "(50 % of the window;" in condenses_at(chat)


def test_superseded_output_is_cleared_where_that_is_wanted(
    settings_page: Settings, open_chat: OpenChat, standin: Standin, server: Server
) -> None:
    """With a row of its own, on the output's card, and back with a click."""
    settings_page.clearing.check()
    settings_page.save()
    chat = open_chat()
    (server.workspace(chat.url) / "notes.txt").write_text("One line of the notes.\n" * 99)
    read = Reply(tools=[ToolCall("read_file", {"path": "notes.txt"})])
    standin.then(read, Reply("Read."), read, Reply("Read again."))
    chat.ask("Read the notes.")
    chat.ask("Read them again.")
    chat.button("Condense context").click()
    row = chat.rows("Tool output cleared")
    expect(row).to_contain_text("1 result cleared")
    expect(chat.log.get_by_text(" · cleared")).to_have_count(1)
    chat.finished()
    row.get_by_role("button", name="Undo clearing").click()
    expect(row).to_contain_text("Undone")
    expect(chat.log.get_by_text(" · cleared")).to_have_count(0)


def test_the_newest_messages_are_kept_where_that_is_chosen(
    settings_page: Settings, open_chat: OpenChat, standin: Standin
) -> None:
    """As many as the number says, which is asked for only then, below the strategy it is for."""
    kept = settings_page.page.get_by_role("spinbutton", name="Messages to keep")
    expect(kept).to_be_hidden()
    settings_page.strategy("Keep recent").check()
    rows = (settings_page.strategy("Keep recent"), kept, settings_page.strategy("Ledger"))
    tops = [box["y"] for box in [row.bounding_box() for row in rows] if box]
    assert len(tops) == 3
    assert tops == sorted(tops)
    kept.fill("2")
    settings_page.save()
    expect(kept).to_have_value("2")
    chat = open_chat()
    standin.then(Reply("Noted."), Reply("A lovely flower."), summary(), Reply("Heliotrope."))
    chat.ask(long(PASSWORD))
    chat.ask("What do you think of it?")
    chat.button("Condense context").click()
    expect(chat.rows("Context condensed")).to_contain_text("2 messages hidden")
    chat.finished()
    chat.ask("Which flower?")
    assert "What do you think of it?" in texts(standin.requests[-1].body)[0]


def test_an_own_prompt_reaches_the_model_until_it_is_reset(
    settings_page: Settings, open_chat: OpenChat, standin: Standin
) -> None:
    """The page shows what differs from the default."""
    page, prompt = settings_page.page, settings_page.prompt
    default = prompt.input_value()
    prompt.fill(default + "\nMention every file.")
    page.get_by_text("Changes from the default").first.click()
    expect(page.locator("ins")).to_have_text("+ Mention every file.")
    page.get_by_role("button", name="Reset to default").click()
    expect(page.get_by_text("No changes")).to_be_visible()
    prompt.fill(OWN_PROMPT)
    settings_page.save()
    chat = open_chat()
    standin.then(Reply("Noted."), summary())
    chat.ask(long(PASSWORD))
    chat.condense()
    assert texts(standin.requests[1].body)[-1].endswith(OWN_PROMPT)
    settings_page.open()
    page.get_by_role("button", name="Reset to default").click()
    settings_page.save()
    expect(prompt).to_have_value(default)


def test_a_profile_that_was_removed_is_chosen_nowhere(open_chat: OpenChat, desk: Desk) -> None:
    """A page that was open meanwhile offers what there is, and says that one has to be chosen."""
    chat = open_chat()
    choice = chat.page.get_by_role("combobox", name="Answered by")
    expect(choice.locator(":checked")).to_have_text("Claude")
    desk.remove_profile("Claude")
    expect(choice.locator(":checked")).to_have_text("Choose a profile")
    expect(choice.get_by_text("Claude")).to_have_count(0)
