"""A whole task, as a person sees it: files, commands, memory, undo."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.chat import Chat, wants_summary
from tests.e2e.conftest import OpenChat
from tests.e2e.server import Server
from tests.e2e.words import summary
from tests.standin.behaviours import Gate, Reply, ToolCall
from tests.standin.server import Standin

GREET = "#!/bin/sh\necho Helo, $1\n"
CHECK = "#!/bin/sh\nset -e\ntest \"$(sh greet.sh Ada)\" = 'Helo, Ada'\n"
NOTES = "The greeting was agreed with the office in Tampere.\n"
FIXED = {"greet.sh": "Hello, $1", "check.sh": "'Hello, Ada'"}

READ = ("greet.sh", "check.sh", "NOTES.md")
FIX = "<<<<<<< SEARCH\necho Helo, $1\n=======\necho Hello, $1\n>>>>>>> REPLACE"
# Each of its two logs is half of the window.
LOG = "seq 2000 | sed 's/$/: one more step of the check is done now/' | tee log.txt > old.txt"
RUN = f"sh check.sh && {LOG} && echo All is well"


def test_a_task_is_done_folded_remembered_and_taken_back(
    open_chat: OpenChat, server: Server, standin: Standin
) -> None:
    """Edits wait for a yes; the context folds in the middle; all of it can be rewound."""
    chat, folding = open_chat(window=70_000, max_output=3_000, threshold="60"), Gate()
    place = server.workspace(chat.url)
    for name, text in zip(READ, (GREET, CHECK, NOTES), strict=True):
        (place / name).write_text(text)
    standin.then(
        Reply("I read it.", tools=[ToolCall("read_file", {"path": name}) for name in READ]),
        Reply("A typo.", tools=[ToolCall("apply_diff", {"path": "greet.sh", "diff": FIX})]),
        Reply(
            "Its check has it too.",
            tools=[
                ToolCall(
                    "write_file",
                    {"path": "check.sh", "content": CHECK.replace("Helo", "Hello")},
                )
            ],
        ),
        Reply("I run it.", tools=[ToolCall("run_command", {"command": RUN})]),
        Reply("And its log.", tools=[ToolCall("read_file", {"path": "log.txt"})]),
        Reply("And the old one.", tools=[ToolCall("read_file", {"path": "old.txt"})]),
        summary(folding),
        Reply("Who agreed?", tools=[ToolCall("search_history", {"query": "agreed greeting"})]),
        Reply("Fixed, as agreed in Tampere."),
    )
    chat.type("Mend the greeting and its check, and say who agreed to it.")
    allow(chat, "+echo Hello, $1")
    assert (place / "check.sh").read_text() == CHECK
    allow(chat, "Hello, Ada")
    allow(chat, "sh check.sh")
    expect(chat.status("Condensing context…")).to_be_visible()
    folding.open()
    chat.finished()
    expect(chat.rows("Agent").last).to_contain_text("Fixed, as agreed in Tampere.")
    expect(chat.rows("Context condensed")).to_have_count(1)
    asked = [request.body for request in standin.requests]
    assert [wants_summary(body) for body in asked].count(True) == 1
    assert "All is well" in str(asked[5])
    assert "Tampere" not in str(asked[-2])
    assert "Tampere" in str(asked[-1]["messages"][-1])
    everything_is_taken_back_and_restored(chat, place)


def everything_is_taken_back_and_restored(chat: Chat, place: Path) -> None:
    """Rewind to the request with its files, see what they were, and undo that."""
    chat.act(chat.rows("You").first, "Rewind to before this")
    dialog = chat.page.get_by_role("dialog")
    dialog.get_by_role("radio", name="Messages and 4 files").check()
    dialog.get_by_text("Show the changes").click()
    expect(dialog.get_by_text("+echo Helo, $1")).to_be_visible()
    dialog.get_by_role("button", name="Rewind", exact=True).click()
    expect(chat.rows("Rewound")).to_be_visible()
    assert [(place / name).read_text() for name in READ] == [GREET, CHECK, NOTES]
    assert sorted(one.name for one in place.iterdir()) == sorted(READ)
    chat.act(chat.rows("Rewound"), "Undo rewind")
    expect(chat.rows("Context condensed")).to_be_visible()
    expect(chat.rows("Agent").last).to_contain_text("Fixed, as agreed")
    for name, text in FIXED.items():
        assert text in (place / name).read_text()


def allow(chat: Chat, change: str) -> None:
    """See what is about to happen, and allow it."""
    row = chat.rows("Agent").filter(has_text=change)
    expect(row.get_by_text(change).last).to_be_visible()
    row.get_by_role("button", name="Allow once", exact=True).click()


def test_thinking_is_shown_while_it_goes_on(open_chat: OpenChat, standin: Standin) -> None:
    """As prose that opens, also for who comes later; afterwards the same line says how long."""
    chat, gate = open_chat(), Gate()
    thought = "**Two** roads diverge. " * 3
    standin.reply("So be it.", thinking=thought, gate=gate, gate_in="thinking")
    chat.type("Which road?")
    line = chat.rows("Agent").locator("summary")
    expect(line).to_contain_text("Thinking…")
    late = chat.second()
    late.rows("Agent").locator("summary").click()
    expect(late.rows("Agent").locator("strong")).to_have_text("Two")
    gate.open()
    chat.finished()
    expect(line).to_have_text(re.compile(r"^Thought for \d+ s · 68 characters\s*$"))
    expect(late.rows("Agent")).to_contain_text("So be it.")
    expect(late.rows("Agent").locator("strong").last).to_be_visible()
    said = line.inner_text()
    chat.open()
    expect(line).to_have_text(said)
