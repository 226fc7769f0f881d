"""Which files a conversation shows that the agent read."""

from typing import Any

import pytest

from condense.folded_files.files_read import files_read
from condense.messages import BESIDE, Message, Tags, TextBlock, ToolResultBlock, ToolUseBlock


def call(name: str, argument: Any, id_: str = "1") -> Message:
    """Return a message with one tool call."""
    return Message("assistant", (ToolUseBlock(id_, name, argument),))


def read(path: str) -> Message:
    """Return a message that reads a file."""
    return call("read_file", {"path": path}, id_=path)


def test_the_newest_comes_first_and_each_once() -> None:
    """One that could not be read does not count; one added for a mention does."""
    assert files_read([read("a"), read("b"), read("c"), read("a")]) == ("a", "c", "b")
    failed = Message("user", (ToolResultBlock("a", "no such file", is_error=True),))
    assert files_read([read("a"), failed, read("b")]) == ("b",)
    added = [
        TextBlock('<file name="a.py">\nx\n</file>', {BESIDE: said})
        for said in (
            {"kind": "file", "name": "a.py", "mention": "file"},
            {"kind": "file", "name": "src/", "mention": "folder"},
            {"kind": "file", "name": "attached.py"},
        )
    ]
    quoted = TextBlock("see @/b.py", {BESIDE: {"kind": "file", "name": "c.py"}})
    message = Message("user", (TextBlock("Look at @a.py"), *added, quoted))
    assert files_read([message]) == ("a.py",)


def test_what_a_summary_shows_folded_was_read_before_it() -> None:
    """The summary is all that is left of the read; anybody else can only write such words."""
    folded = (TextBlock("<system-reminder>\n## File Context: a.py\n1--2 | f\n</system-reminder>"),)
    summary = Message("user", folded, tags=Tags(condense_id="s"))
    assert files_read([summary, read("b")]) == ("b", "a.py")
    assert files_read([Message("user", folded)]) == ()


@pytest.mark.parametrize(
    ("name", "argument", "paths"),
    [
        ("read_file", {"path": "a", "offset": 1}, ("a",)),
        ("read_file", {"files": [{"path": "a", "line_ranges": []}, {"path": "b"}]}, ("a", "b")),
        ("Read", {"file_path": "a", "limit": 9}, ("a",)),
        ("read", {"filePath": "a"}, ("a",)),
        ("view", {"path": "a"}, ("a",)),
        ("read_many_files", {"paths": ["a", "b"]}, ("a", "b")),
        ("NotebookRead", {"notebook_path": "a"}, ("a",)),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a"}, ("a",)),
        ("str_replace_based_edit_tool", {"command": "create", "path": "a"}, ()),
        ("str_replace_editor", "a", ()),
        ("write_to_file", {"path": "a"}, ()),
        ("read_file", {"path": None}, ()),
        ("read_file", None, ()),
    ],
)
def test_tools_that_read_are_known_by_name(
    name: str, argument: Any, paths: tuple[str, ...]
) -> None:
    """Here and in sessions that other agents recorded; edits do not count."""
    assert files_read([call(name, argument)]) == paths


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Look at @/src/a.py, please", ("src/a.py",)),
        (r"@/my\ file.py", ("my file.py",)),
        ("(not me@/a.py) and not '@/lib/a'", ()),
        ('<file_content path="b.py">\n1 | x\n</file_content>', ("b.py",)),
        ("Write to alice@example.org", ()),
    ],
)
def test_files_that_the_user_mentions_count(text: str, paths: tuple[str, ...]) -> None:
    """Their content was put before the model; what the model writes is no mention."""
    assert files_read([Message("user", text)]) == paths
    assert files_read([Message("user", (TextBlock(text),))]) == paths
    assert files_read([Message("assistant", text)]) == ()
