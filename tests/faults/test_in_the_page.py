"""What somebody sees whose server was killed: all of it, what became of it, and how to go on."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.chat import Chat
from tests.e2e.tabs import FLAGS, PATIENCE
from tests.faults.harness import WORD, Server, words
from tests.first_start import FirstStart
from tests.standin.behaviours import Gate, Reply, ToolCall
from tests.standin.server import Standin

pytestmark = pytest.mark.browser


@pytest.fixture
def data(tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart) -> Path:
    """A folder in which a server was started before."""
    return first_start.copy(tmp_path_factory.mktemp("data"))


@pytest.fixture
def page(chromium: str) -> Iterator[Page]:
    """A browser of the test's own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        context = browser.new_context(locale="en-US")
        context.set_default_timeout(PATIENCE)
        yield context.new_page()
        browser.close()


def begin(page: Page, link: str, text: str) -> Chat:
    """Sign in, and send the first message of a conversation."""
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("button", name="Send").click()
    page.wait_for_url(re.compile(r"/c/[0-9a-f-]{36}/"))
    return Chat(page, page.url)


def test_a_page_that_is_open_meanwhile_shows_it_and_goes_on(page: Page, data: Path) -> None:
    """It comes back by itself; Continue asks the model to go on from the last stored word."""
    gate = Gate()
    with Standin() as standin:
        standin.then(Reply(words(30), gate=gate), Reply(words(5)))
        with Server(data, standin) as server:
            chat = begin(page, server.start(), "Count.")
            answer = chat.log.get_by_role("article").filter(has_text=WORD)
            expect(answer).to_be_visible()
            shown = WORD.findall(answer.inner_text())
            while not server.count("chatapp_modelcall WHERE draft LIKE '%w%'"):
                server.until_drafted()
            server.kill()
            gate.open()
            server.start()
            interrupted = chat.rows("Interrupted")
            expect(interrupted).to_contain_text("The server stopped while this was running.")
            expect(interrupted.get_by_role("button", name="Try again")).to_be_visible()
            expect(answer).to_contain_text("The answer was interrupted here.")
            assert WORD.findall(answer.inner_text())[: len(shown)] == shown
            answer.get_by_role("button", name="Continue").click()
            expect(answer).to_have_count(2)
            expect(chat.rows("Continued")).to_be_visible()
            expect(interrupted.get_by_role("button")).to_have_count(0)
            assert not standin.problems


def test_a_question_is_still_there_after_a_kill_and_its_answer_has_the_turn_go_on(
    page: Page, data: Path
) -> None:
    """Nothing was written meanwhile, and nothing is asked of the model twice."""
    write = ToolCall("write_file", {"path": "a.txt", "content": "new\n"})
    with Standin() as standin:
        standin.then(Reply("I write.", tools=(write,)), Reply("Written."))
        with Server(data, standin) as server:
            chat = begin(page, server.start(), "Write it.")
            expect(chat.button("Allow once")).to_be_visible()
            server.kill()
            server.start()
            expect(chat.status("Waiting for you.")).to_be_visible()
            assert not server.count("chatapp_turn WHERE finished_at IS NOT NULL")
            chat.button("Allow once").click()
            expect(chat.rows("Agent").last).to_contain_text("Written.")
            # Its line may only be back after the end, of which nothing is announced then.
            expect(chat.send).to_be_visible()
            assert [one.read_text() for one in data.rglob("a.txt")] == ["new\n"]
            # What asks for a title offers no tools.
            assert len([one for one in standin.requests if one.body.get("tools")]) == 2
            assert not standin.problems
