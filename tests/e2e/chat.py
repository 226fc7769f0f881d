"""The chat page as a person knows it: by roles and names."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.standin.rules import blocks_of

SUMMARY_WANTED = "<summary>"
AROUND = ("<environment_details>", "<recalled>")
HEADING = "## Conversation Summary"
WATCH_WHEEL = """() => {
    const before = scroller.scrollTop;
    window.isAtRest = false;
    scroller.addEventListener("scrollend", () => {
        window.isAtRest ||= scroller.scrollTop !== before;
    });
}"""


class Chat:
    """One tab that shows one conversation; ``words`` says its names in the tab's language."""

    def __init__(self, page: Page, url: str, words: Callable[[str], str] = str) -> None:
        self.page, self.url, self.words = page, url, words
        self.box = page.get_by_role("textbox", name=words("Message"), exact=True)
        # One is there while nothing runs, the other while something does.
        self.send, self.stop = self.button("Send"), self.button("Stop")
        self.log = page.get_by_role("log", name=words("Conversation"))
        self.meter = page.get_by_role("meter", name=words("Context window"))
        # What went wrong, in words.
        self.alert = page.get_by_role("alert")
        self.open()

    def open(self) -> None:
        """Load the page and wait until it has heard from the server, and can send."""
        self.page.goto(self.url)
        expect(self.meter).to_be_visible()
        # Where the page keeps its own words is written with the first frame.
        expect(self.page.locator("#condense-tip[data-words]")).to_be_attached()

    def button(self, name: str) -> Locator:
        """A button of that exact name."""
        return self.page.get_by_role("button", name=self.words(name), exact=True)

    def status(self, text: str) -> Locator:
        """What is announced as going on, where it says ``text``; the panel says it too."""
        return self.page.get_by_role("status").filter(has_text=self.words(text)).first

    @property
    def ending(self) -> Locator:
        """What is announced of a turn that succeeded; one that only condenses says what it did."""
        ends = "|".join(re.escape(self.words(one)) for one in ("Done.", "Context condensed"))
        return self.page.get_by_role("status").filter(has_text=re.compile(ends)).first

    def rows(self, name: str) -> Locator:
        """Articles of the transcript: "You", "Agent", "Context condensed" and so on."""
        return self.log.get_by_role("article", name=self.words(name), exact=True)

    def color(self, row: Locator) -> str:
        """The colour in which a row's words are written."""
        return str(row.locator("p").first.evaluate("one => getComputedStyle(one).color"))

    # What a person does

    def type(self, text: str) -> None:
        """Write a message and send it with Enter."""
        self.box.fill(text)
        self.box.press("Enter")

    def finished(self, status: str = "") -> None:
        """Wait until nothing runs any more."""
        expect(self.status(status) if status else self.ending).to_be_visible()
        expect(self.send).to_be_visible()

    def ask(self, text: str) -> None:
        """Send a message and wait for the whole answer."""
        self.type(text)
        self.finished()

    def condense(self) -> Locator:
        """Press the button, wait until it is done, and return the row that it leaves."""
        self.button("Condense context").click()
        row = self.rows("Context condensed")
        expect(row.last).to_be_visible()
        self.finished()
        return row

    def second(self) -> "Chat":
        """Open the same conversation in another tab."""
        return Chat(self.page.context.new_page(), self.url, self.words)

    def act(self, row: Locator, name: str) -> None:
        """Use a button of a row, which may show only while pointed at."""
        row.hover()
        row.get_by_role("button", name=self.words(name), exact=True).click()

    def choose(self, row: Locator, name: str) -> None:
        """Choose an entry of a row's menu."""
        row.get_by_role("button", name=self.words("More"), exact=True).click()
        name = self.words(name)
        row.get_by_role("button", name=name).or_(row.get_by_role("link", name=name)).click()


def freeze(page: Page) -> None:
    """Let no more time pass on the page: what it shows for a moment stays."""
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now()") / 1_000 + 60)


def texts(body: Mapping[str, Any]) -> list[str]:
    """Return the text of each message of a request, without what was so at its moment."""
    said = [[block.get("text", "") for block in blocks_of(one)] for one in body["messages"]]
    return ["\n".join(text for text in one if not text.startswith(AROUND)) for one in said]


def wants_summary(body: Mapping[str, Any]) -> bool:
    """Whether a request asks for a summary instead of an answer."""
    return SUMMARY_WANTED in texts(body)[-1]


def figures(row: Locator) -> tuple[int, int]:
    """Return N and M of a row's "N → M"."""
    # A row out of view has no inner text: the browser has not laid it out.
    text = row.text_content() or ""
    found = re.search(r"([\d,]+) → ([\d,]+)", text)
    assert found, text
    before, after = (int(number.replace(",", "")) for number in found.groups())
    return before, after


def scroll(page: Page, pixels: int) -> None:
    """Turn the wheel over the transcript, and return once the page has come to rest."""
    page.locator("#scroller").hover()
    page.evaluate(WATCH_WHEEL)
    page.mouse.wheel(0, pixels)
    page.wait_for_function("() => window.isAtRest")
