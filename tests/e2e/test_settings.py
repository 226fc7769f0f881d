"""Settings are saved by a click, and what they come to is said at once."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenChat, OpenPage
from tests.e2e.server import SETTINGS, Desk
from tests.e2e.tabs import Tabs


class Settings:
    """The settings page as a person knows it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.slider = page.get_by_role("slider", name="Threshold (%)", exact=True)
        self.number = page.get_by_role("spinbutton", name="Threshold (%)", exact=True)
        self.prompt = page.get_by_role("textbox", name="Condensing prompt")
        self.profile = page.get_by_role("group", name="Claude", exact=True)
        page.goto("/settings/")

    def open(self, section: str) -> None:
        """Bring a section into view."""
        self.page.get_by_role("link", name=section, exact=True).click()
        expect(self.page.get_by_role("heading", name=section, level=2)).to_be_visible()

    def open_advanced(self) -> None:
        """Fold out what few people need."""
        self.page.get_by_text("Advanced", exact=True).click()

    def save(self) -> None:
        """Save everything, and see that it was."""
        self.page.get_by_role("button", name="Save", exact=True).click()
        expect(self.page.get_by_text("Settings saved.")).to_be_visible()


@pytest.fixture
def settings_page(page: Page, desk: Desk) -> Iterator[Settings]:
    """The settings page, with a profile to set; everything is put back afterwards."""
    desk.use_profile("http://127.0.0.1")
    yield Settings(page)
    desk.post("/settings/", **SETTINGS)


def test_slider_and_number_move_together_and_the_effect_is_said(settings_page: Settings) -> None:
    """Before anything is saved; the bounds are 5 and 100."""
    page, number = settings_page.page, settings_page.number
    settings_page.open_advanced()
    number.fill("42")
    expect(settings_page.slider).to_have_value("42")
    settings_page.slider.focus()
    page.keyboard.press("ArrowRight")
    expect(number).to_have_value("43")
    expect(page.get_by_text(re.compile(r": Condenses at .*\(43%\)"))).to_be_visible()
    expect(settings_page.profile.get_by_text("(43%")).to_be_visible()
    expect(page.get_by_text("There are unsaved changes.")).to_be_visible()
    # Beyond that a request would not fit, so the slider has no more.
    page.keyboard.press("End")
    expect(number).to_have_value("90")
    expect(page.get_by_text("Highest possible threshold:")).to_contain_text("Claude 90%")
    page.keyboard.press("Home")
    expect(number).to_have_value("5")
    for refused in (False, True):
        number.fill("200")
        if refused:
            # What is wrong comes into view, and what was typed elsewhere is still there.
            settings_page.open("Agent and tools")
            page.get_by_role("spinbutton", name="Steps per turn").fill("41")
            page.get_by_role("button", name="Save").click()
            expect(page.locator(".errorlist")).to_be_visible()
            expect(page.get_by_label("Steps per turn")).to_have_value("41")
            expect(page.get_by_text("There are unsaved changes.")).to_be_visible()
        box = page.locator(".field", has=number)
        expect(box.get_by_text("Enter a number from 5 to 100.")).to_have_count(1)
        expect(page.get_by_text(re.compile("less than or equal|Condenses at 200"))).to_have_count(0)
    number.fill("90")
    expect(page.get_by_text("Enter a number from 5 to 100.")).to_have_count(0)
    expect(settings_page.profile.get_by_text("(90%): 400 reserved")).to_be_visible()


def test_leaving_with_changes_asks_and_saving_does_not(open_page: OpenPage) -> None:
    """In the browser's own words."""
    page = open_page("/settings/agent/", own=True)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_role("spinbutton", name="Steps per turn").fill("40")
    page.get_by_role("link", name="Budget").click()
    page.go_back()
    with page.expect_event("dialog"):
        page.get_by_role("link", name="Profiles").click(no_wait_after=True)
    assert asked == ["beforeunload"]
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".toast", has_text="Settings saved.")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Steps per turn")).to_have_value("40")
    assert asked == ["beforeunload"]


def test_two_tabs_that_change_different_settings_both_take_effect(
    settings_page: Settings, tabs: Tabs
) -> None:
    """The one that is saved last knows nothing of the other; what it was left with is kept."""
    other = Settings(tabs.open())
    for one in (settings_page, other):
        one.open_advanced()
    settings_page.number.fill("70")
    settings_page.profile.get_by_label("Own value").first.check()
    settings_page.profile.get_by_role("spinbutton").fill("44")
    idle, clearing = "Condense when you pause", "Shorten outdated tool results first"
    settings_page.page.get_by_role("checkbox", name=idle).check()
    settings_page.save()
    other.page.get_by_role("checkbox", name=clearing).check()
    other.open("Prompts")
    other.prompt.fill("Be brief.")
    other.save()
    other.page.goto("/settings/")
    other.open_advanced()
    expect(other.number).to_have_value("70")
    expect(other.profile.get_by_role("spinbutton")).to_have_value("44")
    expect(other.page.get_by_role("checkbox", name="Condense when you pause")).to_be_checked()
    expect(
        other.page.get_by_role("checkbox", name="Shorten outdated tool results first")
    ).to_be_checked()
    other.open("Prompts")
    expect(other.prompt).to_have_value("Be brief.")


@pytest.mark.rare
def test_a_profile_has_a_value_of_its_own_and_a_way_back(settings_page: Settings) -> None:
    """The page says what each comes to, before it is saved and after."""
    own = settings_page.profile
    settings_page.open_advanced()
    own.get_by_label("Own value", exact=True).check()
    own.get_by_role("spinbutton", name="Own value for Claude").fill("20")
    expect(own.get_by_text("(20%")).to_be_visible()
    settings_page.save()
    expect(own.get_by_text("(20%")).to_be_visible()
    expect(own.get_by_text("Profile", exact=True)).to_be_visible()
    settings_page.number.fill("50")
    own.get_by_label("Inherit").check()
    settings_page.save()
    expect(own.get_by_text("(50%")).to_be_visible()


@pytest.mark.rare
def test_an_own_prompt_is_compared_with_the_default_and_reset(settings_page: Settings) -> None:
    """The page shows what differs from the default."""
    page, prompt = settings_page.page, settings_page.prompt
    settings_page.open("Prompts")
    default = prompt.input_value()
    prompt.fill(default + "\nMention every file.")
    page.get_by_text("Changes from the default").first.click()
    expect(page.locator("ins")).to_have_text("+ Mention every file.")
    page.get_by_role("button", name="Reset to default").click()
    expect(page.get_by_text("No changes")).to_be_visible()
    prompt.fill("Write down the password, and nothing else.")
    settings_page.save()
    expect(prompt).to_have_value("Write down the password, and nothing else.")
    page.get_by_role("button", name="Reset to default").click()
    settings_page.save()
    expect(prompt).to_have_value(default)


@pytest.mark.rare
def test_an_example_becomes_the_prompt_of_a_profile(settings_page: Settings) -> None:
    """It adds to the default, which has the sections; once it is removed, the default holds."""
    page = settings_page.page
    settings_page.open("Prompts")
    default = settings_page.prompt.input_value()
    page.get_by_role("combobox", name="Start from").select_option("Research")
    page.get_by_role("button", name="Add a prompt").click()
    added = page.get_by_role("group", name="New prompt").get_by_label("Text")
    assert added.input_value().startswith(f"{default}\n\nThe conversation is research.")
    settings_page.save()
    page.get_by_label("Prompt of Claude").select_option("Research")
    settings_page.save()
    expect(page.get_by_label("Prompt of Claude").locator(":checked")).to_have_text("Research")
    page.get_by_role("group", name="Research").get_by_label("Remove").check()
    settings_page.save()
    expect(page.get_by_label("Prompt of Claude")).to_have_count(0)


@pytest.mark.rare
def test_no_section_has_more_than_250_words_in_view(settings_page: Settings) -> None:
    """Nor has a hint more than twelve, in what is folded away either."""
    page = settings_page.page
    for name in ("General", "Context", "Agent and tools", "Prompts", "Budget", "Account"):
        settings_page.open(name)
        assert len(page.locator("main").inner_text().split()) <= 250
    hints = page.locator("main .hint").all_text_contents()
    assert [hint for hint in hints if len(hint.split()) > 12] == []


def test_a_profile_that_was_removed_is_chosen_nowhere(open_chat: OpenChat, desk: Desk) -> None:
    """A page that was open meanwhile offers what there is, and says that one has to be chosen."""
    page = open_chat().page
    choice = page.get_by_role("button", name="Answered by")
    expect(choice).to_contain_text("Claude")
    desk.remove_profile("Claude")
    expect(choice).to_contain_text("Choose a profile")
    choice.click()
    expect(page.get_by_role("option", name="Offline")).to_be_visible()
    expect(page.get_by_role("option", name="Claude")).to_have_count(0)


@pytest.mark.rare
def test_how_much_stays_word_for_word_can_be_said_in_tokens(settings_page: Settings) -> None:
    """What the engine does with it all is said where it is set; a profile may have its own."""
    page = settings_page.page
    expect(page.get_by_text("A turn's tools finish first, unless the window")).to_be_visible()
    field = page.get_by_role("spinbutton", name="Tokens to keep")
    expect(field).to_be_hidden()
    page.get_by_text("Summary + recent messages").click()
    expect(page.get_by_text("Replaces “messages to keep”. Leave empty to count")).to_be_visible()
    field.fill("20000")
    settings_page.open_advanced()
    expect(page.get_by_text("Outlines only: the model reads a file again")).to_be_visible()
    settings_page.save()
    page.reload()
    expect(field).to_have_value("20000")
    field.fill("")
    settings_page.save()
    page.reload()
    expect(field).to_have_value("")
    for kept, then in (("", "8000"), ("8000", "")):
        page.goto("/profiles/")
        page.get_by_role("link", name="Claude").first.click()
        settings_page.open_advanced()
        expect(field).to_have_value(kept)
        field.fill(then)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("“Claude” was saved.")).to_be_visible()
