"""What somebody sees whose server was killed: all of it, what became of it, and how to go on."""

import re
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


def begin(page: Page, address: str, text: str) -> Chat:
    """Send the first message of a conversation."""
    page.goto(address)
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("button", name="Send").click()
    page.wait_for_url(re.compile(r"/c/[0-9a-f-]{36}/"))
    return Chat(page, page.url)


def test_pages_that_are_open_meanwhile_show_it_and_go_on(
    chromium: str, first_start: FirstStart, tmp_path: Path
) -> None:
    """An answer is continued from its last stored word, and a question is still to be answered.

    Pages come back by themselves; nothing was written meanwhile, and nothing is asked twice.
    """
    gate = Gate()
    write = ToolCall("write_file", {"path": "a.txt", "content": "new\n"})
    with (
        Standin() as standin,
        Server(first_start.copy(tmp_path / "server"), standin) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        context = browser.new_context(locale="en-US")
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(server.start())
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("textbox", name="Message")).to_be_visible()
        standin.then(Reply("I write.", tools=(write,)))
        asked = begin(page, server.origin, "Write it.")
        expect(asked.button("Allow once")).to_be_visible()
        standin.then(Reply(words(30), gate=gate))
        chat = begin(context.new_page(), server.origin, "Count.")
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
        standin.then(Reply(words(5)))
        answer.get_by_role("button", name="Continue").click()
        expect(answer).to_have_count(2)
        expect(chat.rows("Continued")).to_be_visible()
        expect(interrupted.get_by_role("button")).to_have_count(0)
        asked.page.bring_to_front()
        expect(asked.status("Waiting for you.")).to_be_visible()
        standin.then(Reply("Written."))
        asked.button("Allow once").click()
        expect(asked.rows("Agent").last).to_contain_text("Written.")
        # Its line may only be back after the end, of which nothing is announced then.
        expect(asked.send).to_be_visible()
        assert [one.read_text() for one in server.data.rglob("a.txt")] == ["new\n"]
        # What asks for a title offers no tools.
        assert len([one for one in standin.requests if one.body.get("tools")]) == 4
        assert not standin.problems
        browser.close()
