"""The main job in other languages, found by role and by the catalogue's words."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenChat
from tests.e2e.server import SETTINGS, Desk
from tests.e2e.tabs import Tabs
from tests.e2e.words import PASSWORD, SMALL, long, summary
from tests.standin.behaviours import Reply
from tests.standin.server import Standin
from tests.tooling import messages

RIGHT_TO_LEFT = "ar"
OTHERS = [
    pytest.param(code, marks=pytest.mark.soak)
    for code in ("es", "fr", "hi", "ja", "ko", "pt-br", "ru", "zh-hans")
]


class Words:
    """The words of a catalogue for English ones."""

    def __init__(self, language: str) -> None:
        self._catalog = messages.read(language)

    def __call__(self, english: str) -> str:
        """Return them, whether they are marked or stored."""
        found = self._catalog.get(english) or self._catalog.get(english, "stored")
        assert found, english
        return str(found.string)


@pytest.mark.parametrize("language", ["de", RIGHT_TO_LEFT, *OTHERS])
def test_somebody_asks_condenses_and_takes_it_back(
    tabs: Tabs, open_chat: OpenChat, standin: Standin, language: str
) -> None:
    """In a browser of that language, with its words for everything that is clicked."""
    standin.then(Reply("Noted."), summary())
    chat = open_chat(page=tabs.open(locale=language), words=Words(language), **SMALL)
    html = chat.page.locator("html")
    expect(html).to_have_attribute("lang", language)
    assert html.evaluate("one => one.dir") == ("rtl" if language == RIGHT_TO_LEFT else "")
    chat.ask(long(PASSWORD))
    # What is said has its own direction.
    prose = chat.rows("You").locator(".prose").first
    assert prose.evaluate("one => getComputedStyle(one).direction") == "ltr"
    row = chat.condense()
    chat.act(row, "Undo condensation")
    expect(row).to_contain_text(chat.words("Undone: the model reads the originals"))


@pytest.mark.parametrize(
    "language", ["de", pytest.param(RIGHT_TO_LEFT, marks=pytest.mark.rare), *OTHERS]
)
def test_the_first_thing_to_try_leads_to_a_condensation(
    tabs: Tabs, desk: Desk, language: str
) -> None:
    """It is asked and answered in the language of the page, and so is what can be done then."""
    desk.choose_default("Offline")
    page, words = tabs.open(locale=language), Words(language)
    page.goto("/")
    page.get_by_role("button", name=words("See a condensation")).click()
    log = page.get_by_role("log", name=words("Conversation"))
    row = log.get_by_role("article", name=words("Context condensed")).first
    expect(row).to_be_attached()
    page.get_by_role("status").filter(has_text=words("Done.")).wait_for(state="attached")
    says = words("I read {files}. In one sentence each:").partition("{files}")
    expect(log.get_by_text(says[2].strip()).last).to_be_visible()
    row.get_by_role("button", name=words("View"), exact=True).click()
    expect(row.get_by_role("button", name=words("Undo condensation"))).to_be_visible()


def test_a_language_is_chosen_on_the_sign_in_page_and_in_the_settings(
    tabs: Tabs, window: Tabs
) -> None:
    """There by its own name, without a script; here for wherever one signs in."""
    guest = window.open(known=False)
    guest.goto("/sign-in/")
    guest.get_by_text("Language: English").click()
    guest.get_by_role("button", name="Deutsch").click()
    expect(guest.get_by_role("heading", name=Words("de")("Sign in"))).to_be_visible()
    page = tabs.open()
    page.goto("/settings/general/")
    page.get_by_label("Language").select_option(label="Deutsch")
    page.get_by_role("button", name="Save").click()
    try:
        expect(page.get_by_role("heading", name=Words("de")("Settings"))).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", "de")
        expect(page.get_by_text(Words("de")("Settings saved."))).to_be_visible()
    finally:
        page.get_by_label(Words("de")("Language")).select_option(value="")
        page.get_by_role("button", name=Words("de")("Save")).click()
    expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()


@pytest.fixture
def german(tabs: Tabs, desk: Desk) -> Iterator[Callable[[str], Page]]:
    """Open a tab of an account that has chosen German, in a browser of another locale."""
    desk.post("/settings/", **SETTINGS, language="de")
    yield lambda locale: tabs.open(locale=locale)
    desk.post("/settings/", **SETTINGS, language="")


def test_scripts_write_moments_and_numbers_in_the_chosen_language(
    german: Callable[[str], Page], open_chat: OpenChat, standin: Standin
) -> None:
    """German ones in an American browser, and Swiss ones in a Swiss browser."""
    standin.then(Reply("Notiert."))
    page = german("en-US")
    chat = open_chat(page=page, words=Words("de"))
    chat.ask("Hallo.")
    moment = chat.rows("You").locator("time")
    expect(moment).to_have_text(re.compile(r"^\d\d:\d\d$"))
    exact = re.compile(r"^\w+(?:tag|woch), \d+\. \w+ \d{4} um \d\d:\d\d:")
    expect(moment).to_have_attribute("title", exact)
    page.goto("/costs/")
    day = page.locator("time[data-style=day]").first
    expect(day).to_have_text(re.compile(r"^\d\d\.\d\d\.\d{4}$"))
    for locale, number in (("en-US", "86.000 Token"), ("de-CH", "86'000 Token")):
        page = german(locale)
        page.goto("/settings/context/")
        page.get_by_text(Words("de")("Advanced"), exact=True).click()
        page.locator("[name=threshold][type=number]").fill("43")
        claude = page.get_by_role("group", name="Claude", exact=True)
        expect(claude.locator("[data-effect]")).to_contain_text(number, use_inner_text=True)


def test_an_open_page_is_not_mixed_of_two_languages(tabs: Tabs, desk: Desk) -> None:
    """Its reader's next look at something loads it anew, with what was typed into it.

    A page that the browser translates has the language of that, and stays.
    """
    page = tabs.open()
    page.goto("/settings/agent/")
    typed = page.locator("#main form[method=post] input[type=number]:visible").first
    typed.fill("7")
    page.evaluate("document.documentElement.lang = 'nl'")
    page.get_by_role("searchbox").first.fill("nothing")
    expect(page.locator("#conversation-list")).to_contain_text("nothing")
    expect(page.locator("html")).to_have_attribute("lang", "nl")
    desk.post("/settings/", **SETTINGS, language="de")
    try:
        page.get_by_role("searchbox").first.fill("nothing at all")
        expect(page.get_by_role("heading", name=Words("de")("Settings"))).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", "de")
        expect(typed).to_have_value("7")
    finally:
        desk.post("/settings/", **SETTINGS, language="")


def test_a_message_that_is_edited_is_so_in_the_other_language_too(
    tabs: Tabs, desk: Desk, addresses: dict[str, str]
) -> None:
    """With what was typed, in its place."""
    page = tabs.open()
    page.goto(addresses["rich"])
    page.get_by_role("textbox", name="Message").press("ArrowUp")
    edit = page.get_by_role("textbox", name="Your edit")
    edit.fill("Half a word")
    desk.post("/settings/", **SETTINGS, language="de")
    try:
        page.get_by_role("searchbox").first.fill("qwertz")
        edit = page.get_by_role("textbox", name=Words("de")("Your edit"))
        expect(edit).to_have_value("Half a word")
    finally:
        desk.post("/settings/", **SETTINGS, language="")
