"""Long texts: what is too long is said before it is sent, everything else arrives."""

import re

from playwright.sync_api import Page, WebSocket, expect

from tests.e2e.chat import freeze, texts
from tests.e2e.conftest import OpenChat
from tests.e2e.server import Server
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

WORDS = "word " * 100_000


def test_half_a_megabyte_is_sent_and_more_is_said_to_be_too_long(
    own_page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """At the composer, at once; the line is not lost over it, and nothing of the text either."""
    chat = open_chat(page=own_page)
    standin.reply("Long, but read.")
    lines: list[WebSocket] = []

    def note(line: WebSocket) -> None:
        lines.append(line)

    chat.page.on("websocket", note)
    chat.open()
    chat.box.fill("x" * 1_200_000)
    excess = "Too long: it has 1,200,000 characters, and a message can have 500,000."
    expect(chat.status(excess)).to_be_visible()
    chat.box.press("Enter")
    expect(chat.status(excess)).to_be_visible()
    expect(chat.rows("You")).to_have_count(0)
    chat.box.fill(WORDS)
    expect(chat.status(excess)).to_have_count(0)
    chat.box.press("Enter")
    expect(chat.rows("Agent")).to_contain_text("Long, but read.")
    chat.finished()
    assert len(lines) == 1
    assert texts(standin.requests[0].body) == [WORDS]


def test_a_long_result_is_shown_in_full_on_request(
    own_page: Page, open_chat: OpenChat, standin: Standin, server: Server
) -> None:
    """The page carries its beginning; the words of a message are fetched for copying."""
    chat = open_chat(page=own_page)
    lines = "".join(f"line {number}\n" for number in range(1, 1_901))
    (server.workspace(chat.url) / "long.txt").write_text(lines)
    standin.then(
        Reply(tools=(ToolCall("read_file", {"path": "long.txt"}),)), Reply("It is **long**.")
    )
    chat.type("Read it.")
    chat.finished()
    tool = chat.log.locator("details.tool").first
    tool.locator("summary").click()
    result = tool.locator(".tool-result pre")
    expect(result).not_to_contain_text("line 1900")
    tool.get_by_role("button", name="Show all").click()
    expect(result).to_contain_text(re.compile(r"line 1900$"))
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    freeze(chat.page)
    answer = chat.rows("Agent").last
    answer.hover()
    answer.get_by_role("button", name="Copy", exact=True).click()
    expect(answer.get_by_role("button", name="Copied")).to_be_visible()
    assert chat.page.evaluate("navigator.clipboard.readText()") == "It is **long**."
