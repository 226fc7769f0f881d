"""What failed is tried again, what was cut goes on, and an answer has versions."""

import re

from playwright.sync_api import Locator, expect

from tests.e2e.accessibility import open_all, problems
from tests.e2e.chat import texts
from tests.e2e.conftest import OpenChat
from tests.standin.behaviours import UNAUTHORIZED, Reply, ToolCall
from tests.standin.server import Standin


def versions(row: Locator) -> Locator:
    """What a row says of its versions."""
    return row.get_by_role("group", name="Versions")


def test_a_failed_turn_is_a_row_that_outlives_what_comes_after(
    open_chat: OpenChat, standin: Standin
) -> None:
    """It leads to the profile, can be tried again, and then stays on record without its buttons."""
    chat = open_chat()
    standin.then(UNAUTHORIZED, Reply("Welcome."))
    chat.type("Hello.")
    failed = chat.rows("Turn failed")
    expect(failed).to_contain_text("did not accept the API key. Check it in Profiles.")
    chat.finished("Failed.")
    chat.alert.get_by_text("Details").click()
    expect(chat.alert.get_by_text("HTTP status: 401")).to_be_visible()
    chat.page.reload()
    expect(chat.alert).to_contain_text("did not accept the API key")
    expect(failed).to_contain_text("did not accept the API key")
    address = failed.get_by_role("link", name="Open profile").get_attribute("href")
    assert re.fullmatch(r"/profiles/\d+/", address or "")
    failed.get_by_role("button", name="Try again").press("Enter")
    chat.finished()
    expect(chat.rows("Agent")).to_contain_text("Welcome.")
    expect(chat.rows("You")).to_have_count(1)
    expect(failed).to_contain_text("did not accept the API key")
    expect(failed.get_by_role("button", name="Try again")).to_have_count(0)
    assert texts(standin.requests[1].body) == ["Hello."]
    open_all(chat.page)
    assert problems(chat.page, 360) == []


def test_another_answer_keeps_the_first_one_click_away(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The conversation goes on from the version that is shown; the keyboard reaches each.

    What was set aside takes no room, unless an address leads into it.
    """
    chat = open_chat()
    tools = Reply("I look.", [ToolCall("list_files", {})])
    standin.then(Reply("First."), tools, Reply("Second."))
    chat.ask("What is here?")
    chat.act(chat.rows("Agent"), "Regenerate")
    expect(chat.rows("Agent").last).to_contain_text("Second.")
    chat.finished()
    expect(versions(chat.rows("Agent").last)).to_contain_text("2/2")
    expect(chat.rows("Version 1 of 2")).to_have_count(0)
    chat.button("Previous version").press("Enter")
    expect(versions(chat.rows("Agent").last)).to_contain_text("1/2")
    expect(chat.box).to_be_focused()
    chat.button("Next version").press("Enter")
    expect(versions(chat.rows("Agent").last)).to_contain_text("2/2")
    chat.act(chat.rows("Agent").last, "Previous version")
    expect(versions(chat.rows("Agent").last)).to_contain_text("1/2")
    expect(chat.rows("Agent").last).to_contain_text("First.")
    chat.page.goto(f"{chat.url}?at=5#message-5")
    expect(chat.rows("Version 2 of 2")).to_contain_text("2 messages and 1 tool result")
    chat.open()
    expect(versions(chat.rows("Agent").last)).to_contain_text("1/2")
    standin.reply("Third.")
    chat.ask("Go on.")
    assert texts(standin.requests[-1].body) == ["What is here?", "First.", "Go on."]
    # Where nothing came in its place, its row is the way back.
    standin.then(UNAUTHORIZED)
    chat.act(chat.rows("Agent").last, "Regenerate")
    chat.finished("Failed.")
    chat.rows("Version 1 of 2").get_by_role("button", name="Use this version").click()
    expect(chat.rows("Agent").last).to_contain_text("Third.")
