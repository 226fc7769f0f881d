"""What the agent asks: seen with what would change, answered once, in whichever tab."""

import re

from playwright.sync_api import expect

from tests.e2e.accessibility import complaints
from tests.e2e.conftest import OpenChat
from tests.e2e.server import Server
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

WRITE = ToolCall("write_file", {"path": "a.txt", "content": "new\n"})
MARK = re.compile("^● ")


def test_a_write_is_allowed_in_one_tab_and_goes_on_in_all(
    open_chat: OpenChat, standin: Standin, server: Server
) -> None:
    """Each shows the difference and marks its title, also after it was loaded again."""
    chat = open_chat()
    file = server.workspace(chat.url) / "a.txt"
    file.write_text("old\n")
    standin.then(Reply("I write.", tools=(WRITE,)), Reply("Written."))
    other = chat.second()
    chat.type("Write it.")
    for tab in (chat, other):
        expect(tab.button("Allow once")).to_be_visible()
        expect(tab.log.get_by_text("-old")).to_be_visible()
        expect(tab.log.get_by_text("+new")).to_be_visible()
        expect(tab.page.get_by_role("img", name="Waits for you")).to_be_visible()
        expect(tab.page).to_have_title(MARK)
    expect(chat.page).to_have_title(re.compile("^● Write it."))
    assert file.read_text() == "old\n"
    other.open()
    expect(other.status("Waiting for you.")).to_be_visible()
    other.button("Allow once").click()
    for tab in (chat, other):
        tab.finished()
        expect(tab.rows("Agent").last).to_contain_text("Written.")
        expect(tab.page).not_to_have_title(MARK)
    assert file.read_text() == "new\n"


def test_approvals_have_keys_and_take_the_focus_from_an_empty_composer(
    open_chat: OpenChat, standin: Standin, server: Server
) -> None:
    """Enter in the reason denies, and the model hears it; the other calls wait their turn.

    Who writes goes on writing, and decides nothing by a key.
    """
    chat = open_chat()
    others = [ToolCall("write_file", {"path": path, "content": "new\n"}) for path in ("b", "c")]
    standin.then(Reply("I write.", tools=(WRITE, *others)), Reply("All right."))
    chat.type("Write them.")
    approval = chat.page.get_by_role("form", name="Approval")
    cards = chat.rows("Agent").locator("summary")
    expect(approval).to_be_focused()
    asked = "Create a.txt (+1 line)? write_file a.txt"
    expect(approval).to_have_accessible_description(asked)
    expect(approval.get_by_text("/dev/null")).to_have_count(0)
    expect(cards).to_contain_text(["waiting for you", "Waiting its turn", "Waiting its turn"])
    assert complaints(chat.page) == []
    chat.page.keyboard.type("Why")
    chat.page.keyboard.press("Alt+Backspace")
    expect(chat.box).to_be_focused()
    chat.box.fill("")
    chat.page.keyboard.press("Alt+Enter")
    expect(cards).to_contain_text(["Created a.txt 1 line", "waiting for you", "Waiting its turn"])
    reason = chat.page.get_by_role("textbox", name="Reason for the model")
    expect(reason).to_have_count(0)
    chat.button("Deny").click()
    expect(reason).to_be_focused()
    reason.fill("Not this file.")
    reason.press("Enter")
    expect(cards).to_contain_text(["Created a.txt 1 line", "denied", "waiting for you"])
    expect(approval).to_be_focused()
    chat.page.keyboard.press("Alt+Backspace")
    chat.finished()
    expect(cards).to_contain_text(["Created a.txt 1 line", "denied", "denied"])
    expect(chat.page).not_to_have_title(re.compile("^●"))
    expect(chat.box).to_be_focused()
    assert [path.name for path in server.workspace(chat.url).iterdir()] == ["a.txt"]
    assert "They say: Not this file." in str(standin.requests[-1].body["messages"][-1])


def test_a_question_is_answered_by_a_button_or_in_words(
    open_chat: OpenChat, standin: Standin
) -> None:
    """And the to-do list stands beside the chat; on a phone a long answer is a button of lines.

    An answer that is half written is there when the page is loaded anew.
    """
    answers = f"Tabs\nSpaces\nLeave it as it is{', and change nothing' * 6}"
    asked = ToolCall("ask_user", {"question": "Tabs or spaces?", "answers": answers})
    todo = ToolCall("update_todo_list", {"todos": "[x] Ask\n[ ] Format"})
    chat = open_chat()
    again = ToolCall("ask_user", {"question": "Everywhere?"})
    standin.then(Reply(tools=(todo, asked)), Reply(tools=(again,)), Reply("Both, then."))
    chat.type("Format it.")
    expect(chat.page.get_by_text("1 of 2", exact=True)).to_be_visible()
    chat.page.set_viewport_size({"width": 360, "height": 740})
    assert chat.page.evaluate("scroller.scrollWidth - scroller.clientWidth") == 0
    chat.button("Spaces").click()
    expect(chat.button("Spaces")).to_have_count(0)
    # The row of the second question is there only now; before, it would come anew once more.
    expect(chat.status("Waiting for you.")).to_be_visible()
    answer = chat.page.get_by_role("textbox", name="Your answer")
    answer.fill("Bo")
    chat.page.reload()
    expect(chat.status("Waiting for you.")).to_be_visible()
    expect(answer).to_have_value("Bo")
    answer.fill("Both")
    answer.press("Enter")
    chat.finished()
    results = [str(request.body["messages"][-1]) for request in standin.requests[1:]]
    assert "'Spaces'" in results[0]
    assert "'Both'" in results[1]
