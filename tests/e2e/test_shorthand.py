"""Commands and paths are completed while they are typed, by keyboard, and sent with the message."""

import json
import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.e2e.chat import Chat
from tests.e2e.conftest import OpenChat
from tests.e2e.server import Server
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

REVIEW = "---\ndescription: Look closely\nargument-hint: file\n---\nReview $1 closely."


def put(chat: Chat, server: Server, path: str, text: str) -> None:
    """Write a file into the conversation's workspace."""
    file = server.workspace(chat.url) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def options(chat: Chat) -> Locator:
    """What is suggested now."""
    return chat.page.get_by_role("listbox", name="Suggestions").get_by_role("option")


def chosen(chat: Chat) -> Locator:
    """The one that the keyboard would take, which the composer names as its active one."""
    one = options(chat).and_(chat.page.locator("[aria-selected=true]"))
    expect(one).to_have_count(1)
    expect(chat.box).to_have_attribute("aria-activedescendant", one.get_attribute("id") or "-")
    return one


def test_a_command_is_completed_sent_and_kept(
    open_chat: OpenChat, standin: Standin, server: Server
) -> None:
    """The focus never leaves the composer; what it stands for can be read before and after."""
    chat = open_chat()
    put(chat, server, ".palimpsest/commands/review.md", REVIEW)
    keys = chat.page.keyboard
    keys.type("/re")
    expect(options(chat)).to_have_count(2)
    expect(chosen(chat)).to_contain_text("/rewind")
    keys.press("ArrowDown")
    expect(chosen(chat)).to_contain_text("Review $1 closely.")
    keys.press("ArrowDown")
    expect(chosen(chat)).to_contain_text("/rewind")
    keys.press("ArrowUp")
    keys.press("Tab")
    expect(chat.box).to_have_value("/review ")
    expect(chat.box).to_be_focused()
    expect(options(chat)).to_have_count(0)
    standin.reply("Fine.")
    keys.type("a.py")
    keys.press("Enter")
    chat.finished()
    row = chat.rows("You")
    expect(row).to_contain_text("/review a.py")
    row.get_by_text("/review", exact=True).click()
    expect(row.get_by_text("Review a.py closely.")).to_be_visible()
    sent = json.dumps(standin.requests[0].body)
    assert "Review a.py closely." in sent


def test_a_path_is_completed_and_its_file_added(
    open_chat: OpenChat, standin: Standin, server: Server
) -> None:
    """Through a folder, with quotes where there are spaces; Esc closes the list, and no more."""
    chat = open_chat()
    put(chat, server, "my notes/first draft.md", "Secret: 4711")
    keys = chat.page.keyboard
    keys.type("Read @my")
    expect(chosen(chat)).to_have_text("my notes/")
    keys.press("Enter")
    expect(chat.box).to_have_value('Read @"my notes/"')
    expect(options(chat)).to_have_count(2)
    keys.press("ArrowDown")
    keys.press("Escape")
    expect(options(chat)).to_have_count(0)
    expect(chat.box).to_have_value('Read @"my notes/"')
    keys.type("f")
    expect(chosen(chat)).to_have_text("my notes/first draft.md")
    keys.press("Tab")
    expect(chat.box).to_have_value('Read @"my notes/first draft.md" ')
    standin.reply("Fine.")
    keys.press("Enter")
    chat.finished()
    expect(chat.rows("You").locator(".attached-name")).to_have_text("my notes/first draft.md")
    assert "4711" in json.dumps(standin.requests[0].body)


def test_an_unknown_command_stays_until_it_is_sent_as_text(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The line at the composer says so; a path at the beginning is no command.

    A text that was refused is sent again under its nonce: the server may have stored it.
    """
    chat, sent = open_chat(), list[dict[str, Any]]()
    chat.page.once("websocket", lambda socket: socket.on("framesent", hear))

    def hear(frame: Any) -> None:
        sent.append(json.loads(frame))

    chat.page.reload()
    chat.type("/reveiw it")
    expect(chat.status("There is no command /reveiw.")).to_be_visible()
    expect(chat.box).to_have_value("/reveiw it")
    standin.then(Reply("As you like."), Reply("So it is."))
    chat.box.press("Enter")
    expect(chat.rows("You")).to_contain_text("/reveiw it")
    chat.finished()
    chat.ask("/usr/bin is full")
    expect(chat.rows("You").last).to_contain_text("/usr/bin is full")
    nonces = [(one["text"], one["nonce"]) for one in sent if one["type"] == "message.send"]
    # A line that was lost meanwhile may have had one sent once more.
    assert len(nonces) >= 3
    assert len({*nonces}) == len({nonce for _text, nonce in nonces}) == 2


def test_built_in_commands_do_what_they_say(open_chat: OpenChat, standin: Standin) -> None:
    """Typed out, Enter carries them out at once; nothing of it is sent."""
    chat = open_chat()
    chat.type("/rewind")
    expect(chat.status("no message of yours")).to_be_visible()
    standin.reply("Hello.")
    chat.ask("Hi")
    chat.type("/help me")
    expect(chat.status("/help takes nothing after it.")).to_be_visible()
    expect(chat.box).to_have_value("/help me")
    chat.box.fill("")
    keys = chat.page.keyboard
    keys.type("/help")
    expect(options(chat)).to_have_count(1)
    keys.press("Enter")
    dialog = chat.page.get_by_role("dialog", name="Commands")
    expect(dialog).to_contain_text("/condense")
    keys.press("Escape")
    expect(dialog).to_be_hidden()
    expect(chat.box).to_be_focused()
    chat.type("/rewind")
    expect(chat.page.get_by_role("dialog")).to_contain_text("Rewind")
    keys.press("Escape")
    with chat.page.expect_download() as download:
        chat.type("/export")
    assert json.loads(download.value.path().read_text())["messages"][0]["role"] == "user"
    chat.type("/clear")
    expect(chat.page.get_by_text("the same profile and workspace")).to_be_visible()
    assert chat.url not in chat.page.url
    expect(chat.rows("You")).to_have_count(0)
    chat.open()
    expect(chat.rows("You")).to_have_count(1)


def test_the_first_page_completes_and_keeps_what_it_cannot_do(first_page: Page) -> None:
    """Help is there; a command for a conversation stays in the box, and the browser says why.

    So does what is too long.
    """
    page = first_page
    box = page.get_by_role("textbox", name="Message")
    box.press_sequentially("/h")
    suggested = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(suggested).to_have_count(1)
    box.press("Tab")
    expect(box).to_have_value("/help ")
    box.press("Enter")
    dialog = page.get_by_role("dialog", name="Commands")
    expect(dialog).to_contain_text("/condense")
    dialog.get_by_role("button", name="Close").click()
    box.fill("/condense all of it")
    box.press("Enter")
    expect(box).to_have_js_property("validity.customError", value=True)
    expect(box).to_have_value("/condense all of it")
    box.fill("x" * 500_001)
    box.press("Enter")
    assert "500,001 characters" in box.evaluate("box => box.validationMessage")
    expect(page).to_have_url(re.compile("/$"))
    box.fill("Hello")
    assert box.evaluate("box => box.validationMessage") == ""
