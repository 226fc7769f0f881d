"""A conversation comes from a file, goes out as others, and is shared for a while."""

import json
import re
from pathlib import Path

from playwright.sync_api import FilePayload, expect

from tests.chatapp.records.importers.exports import EXPORTS
from tests.e2e.accessibility import complaints, problems
from tests.e2e.conftest import OpenPage
from tests.e2e.tabs import Tabs

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "src"}'}}
TALK = [
    {"role": "user", "content": "What is in **src**?"},
    {"role": "assistant", "content": "Let me look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "a.py\nb.py"},
    {"role": "assistant", "content": "Two files:\n\n```python\nprint(1)\n```"},
    {"role": "chorus", "content": "Too late."},
]
FILE: FilePayload = {
    "name": "talk.json",
    "mimeType": "application/json",
    "buffer": json.dumps(TALK).encode(),
}


def test_a_file_is_imported_read_and_shared(
    open_page: OpenPage, tabs: Tabs, tmp_path: Path
) -> None:
    """By names that people read; each page is accessible, and scrolls sideways nowhere."""
    page = open_page("/")
    page.get_by_role("link", name="Import a conversation").click()
    expect(page.get_by_role("heading", name="Import a conversation")).to_be_visible()
    assert problems(page) == []
    page.get_by_label("File(s)").set_input_files(FILE)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("log").get_by_text("Two files:")).to_be_visible()
    expect(page.get_by_text("4 messages from “talk.json”.")).to_be_visible()
    page.get_by_role("link", name="Details").click()
    expect(page.get_by_text("This is no message of this form.")).to_be_visible()
    assert problems(page) == []
    page.get_by_role("link", name="Open the conversation").click()
    expect(page.get_by_role("log").get_by_text("Two files:")).to_be_visible()
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("link", name="Share or export").click()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="HTML").click()
    downloading.value.save_as(copy := tmp_path / "talk.html")
    page.get_by_label("Include tool input and output").check()
    page.get_by_role("button", name="Share", exact=True).click()
    link = page.get_by_label("Link").input_value()
    assert problems(page) == []
    stranger = tabs.open(known=False)
    stranger.goto(link)
    assert problems(stranger) == []
    for address in (link, copy.as_uri()):
        stranger.goto(address)
        expect(stranger.get_by_text("Two files:")).to_be_visible()
        stranger.get_by_text("ls src").click()
        expect(stranger.get_by_text("a.py")).to_be_visible()
        assert stranger.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(stranger.locator("time").first).to_have_text(re.compile("[AP]M$"))
        stranger.get_by_role("button", name="Dark").click()
        expect(stranger.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Stop sharing").click()
    expect(page.get_by_text("Sharing stopped.")).to_be_visible()
    stranger.goto(link)
    expect(stranger.get_by_text("is no longer shared.")).to_be_visible()
    assert complaints(stranger) == []


def test_an_account_s_export_is_one_click_from_each_conversation(open_page: OpenPage) -> None:
    """And a branch of it is a version, to be looked at with the arrows."""
    page = open_page("/import/", width=360)
    name, _told, data = EXPORTS["chatgpt"]
    export: FilePayload = {"name": name, "mimeType": "application/zip", "buffer": data}
    page.get_by_label("File(s)").set_input_files(export)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="2 conversations imported")).to_be_visible()
    expect(page.get_by_text("word18 empty")).to_be_visible()
    assert problems(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("main").get_by_role("link", name="word00 cats").click()
    shown = page.get_by_role("log")
    expect(shown.get_by_text("word14 newer edit")).to_be_visible()
    expect(shown.get_by_role("img", name="word02.png")).to_be_visible()
    shown.get_by_role("button", name="Previous version").last.click()
    expect(shown.get_by_text("word12 older edit")).to_be_visible()
