"""Settings are saved by a click, said at once, and obeyed by the next turn."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.e2e.flows.chat import Chat, texts, wants_summary
from tests.e2e.flows.conftest import OpenChat
from tests.e2e.flows.serving import Desk, Server
from tests.e2e.flows.words import PASSWORD, long, summary
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

OWN_PROMPT = "Write down the password, and nothing else, in a <summary> block."


class Settings:
    """The settings page as a person knows it."""

    def __init__(self, page: Page) -> None:
        """Open it."""
        self.page = page
        self.open()

    def open(self) -> None:
        """Load the page as it is stored."""
        self.page.goto("/settings/")

    def save(self) -> None:
        """Save everything, and see that it was."""
        self.page.get_by_role("button", name="Save", exact=True).click()
        expect(self.page.get_by_text("Settings saved.")).to_be_visible()

    @property
    def automatic(self) -> Locator:
        """The switch for everything that happens by itself."""
        return self.page.get_by_role("checkbox", name="Condense automatically")

    @property
    def slider(self) -> Locator:
        """The threshold as a slider."""
        return self.page.get_by_role("slider", name="Threshold (%)", exact=True)

    @property
    def number(self) -> Locator:
        """The threshold as a number."""
        return self.page.get_by_role("spinbutton", name="Threshold (%)", exact=True)

    @property
    def prompt(self) -> Locator:
        """The condensing prompt."""
        return self.page.get_by_role("textbox", name="Condensing prompt")

    @property
    def clearing(self) -> Locator:
        """The switch for clearing tool output before anything is summarised."""
        return self.page.get_by_role("checkbox", name="Clear superseded tool output first")

    def strategy(self, name: str) -> Locator:
        """The strategy that begins with this name."""
        return self.page.get_by_role("radio", name=name)

    def of_profile(self, name: str) -> Locator:
        """The threshold of one profile."""
        return self.page.get_by_role("group", name=name, exact=True)

    def restore(self) -> None:
        """Put everything back as it was on the first day."""
        self.open()
        self.automatic.check()
        self.strategy("Fresh start").check()
        self.clearing.uncheck()
        self.number.fill("100")
        self.of_profile("Claude").get_by_label("Inherit").check()
        self.page.get_by_role("button", name="Reset to default").click()
        self.save()


@pytest.fixture
def settings_page(open_chat: OpenChat, context: BrowserContext) -> Iterator[Settings]:
    """The settings page, with a profile to set; everything is put back afterwards."""
    open_chat()
    shown = Settings(context.new_page())
    yield shown
    shown.restore()


def condenses_at(chat: Chat) -> str:
    """Return what the context bar says about where condensing starts."""
    return chat.meter.get_attribute("aria-valuetext") or ""


def test_slider_and_number_move_together_and_the_effect_is_said(settings_page: Settings) -> None:
    """Before anything is saved; the bounds are 5 and 100."""
    settings_page.number.fill("42")
    expect(settings_page.slider).to_have_value("42")
    settings_page.slider.focus()
    settings_page.page.keyboard.press("ArrowRight")
    expect(settings_page.number).to_have_value("43")
    expect(settings_page.page.get_by_text("Condenses at 43 % of the window")).to_be_visible()
    effect = settings_page.of_profile("Claude").get_by_text("(43 % of the window;")
    expect(effect).to_be_visible()
    expect(settings_page.page.get_by_text("There are unsaved changes.")).to_be_visible()
    settings_page.page.keyboard.press("End")
    expect(settings_page.number).to_have_value("100")
    settings_page.page.keyboard.press("Home")
    expect(settings_page.number).to_have_value("5")


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
    """As many as the number says, which is asked for only then."""
    kept = settings_page.page.get_by_role("spinbutton", name="Messages to keep")
    expect(kept).to_be_hidden()
    settings_page.strategy("Keep recent").check()
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
    default = settings_page.prompt.input_value()
    settings_page.prompt.fill(OWN_PROMPT)
    settings_page.save()
    chat = open_chat()
    standin.then(Reply("Noted."), summary())
    chat.ask(long(PASSWORD))
    chat.button("Condense context").click()
    expect(chat.rows("Context condensed")).to_be_visible()
    chat.finished()
    assert texts(standin.requests[1].body)[-1].endswith(OWN_PROMPT)
    settings_page.page.get_by_role("button", name="Reset to default").click()
    expect(settings_page.prompt).to_have_value(default)
    settings_page.save()
    expect(settings_page.prompt).to_have_value(default)


def test_a_profile_that_was_removed_is_chosen_nowhere(open_chat: OpenChat, desk: Desk) -> None:
    """A page that was open meanwhile offers what there is, and says that one has to be chosen."""
    chat = open_chat()
    choice = chat.page.get_by_role("combobox", name="Answered by")
    expect(choice.locator(":checked")).to_have_text("Claude")
    desk.post(f"/profiles/{desk.profile('Claude')}/delete/")
    expect(choice.locator(":checked")).to_have_text("Choose a profile")
    expect(choice.get_by_text("Claude")).to_have_count(0)
