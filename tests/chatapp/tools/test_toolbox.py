"""The toolbox: every call comes back as an outcome, whatever the model writes."""

import logging
from pathlib import Path

import pytest

from chatapp.agent.ports import Line, ToolOutcome, ToolPolicy
from chatapp.tools import TOOL_SPECS, WorkspaceToolbox, list_files


@pytest.fixture
def toolbox(folder: Path) -> WorkspaceToolbox:
    """The tools for a folder with one file."""
    (folder / "a.txt").write_text("one\ntwo\n")
    return WorkspaceToolbox(folder)


def test_a_tool_is_there_where_it_may_run_and_has_what_it_asks_for(folder: Path) -> None:
    """What is denied is not offered, and no port means no tool; only reading needs no approval."""
    denied = {"write_file": ToolPolicy.DENY, "apply_diff": ToolPolicy.DENY}
    box = WorkspaceToolbox(folder, policies=denied, offers={Line: lambda line: line})
    assert [spec.name for spec in box.specs] == [
        "ask_user",
        "list_files",
        "read_file",
        "search_files",
        "update_todo_list",
    ]
    asked = ("write_file", "apply_diff")
    assert {TOOL_SPECS[name].default_policy for name in asked} == {ToolPolicy.ASK}
    assert {spec.default_policy for spec in box.specs} == {ToolPolicy.ALLOW}


async def test_suggested_answers_are_not_cut(folder: Path) -> None:
    """A person would choose half a sentence, or miss one: the model is told to suggest less."""
    box = WorkspaceToolbox(folder, offers={Line: lambda line: line})
    for answers in ("x" * 201, "\n".join("1234567")):
        told = await box.run("ask_user", {"question": "Which?", "answers": answers})
        assert told == ToolOutcome("Suggest at most 6 answers of 200 characters each.", True)


def test_the_model_is_told_what_each_argument_is(toolbox: WorkspaceToolbox) -> None:
    """The schema is what the check goes by."""
    spec = TOOL_SPECS["read_file"].to_api()
    schema = spec["input_schema"]
    assert schema["required"] == ["path"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["start_line"] == {
        "type": "integer",
        "description": "First line to read.",
        "minimum": 1,
        "default": 1,
    }
    assert schema["properties"]["end_line"]["type"] == "integer"
    for one in toolbox.specs:
        assert all(about["description"] for about in one.input_schema["properties"].values())


async def test_a_call_gives_its_text(toolbox: WorkspaceToolbox) -> None:
    """Arguments with a default may be left out or null."""
    for arguments in ({}, {"path": "."}, {"path": None, "recursive": False}):
        assert await toolbox.run("list_files", arguments) == ToolOutcome("a.txt (8 bytes)")
    # JSON knows one kind of number.
    outcome = await toolbox.run("read_file", {"path": "a.txt", "start_line": 2.0})
    assert outcome == ToolOutcome("     2\ttwo")


async def test_a_wrong_call_is_explained(toolbox: WorkspaceToolbox) -> None:
    """The model can correct itself."""
    for name, arguments, words in (
        ("rm", {}, 'There is no tool "rm". Tools: apply_diff, list_files, '),
        ("x\n" * 5_000, {}, "There is no tool"),
        ("read_file", {}, "The argument 'path' is missing."),
        ("read_file", {"path": None}, "The argument 'path' is missing."),
        ("read_file", {"path": 1}, "The argument 'path' must be a text."),
        ("read_file", {"path": "a.txt", "start_line": 1.5}, "must be a whole number"),
        ("read_file", {"path": "a.txt", "start_line": True}, "must be a whole number"),
        ("read_file", {"path": "a.txt", "start_line": 0}, "must be at least 1"),
        ("read_file", {"path": "a.txt", "start_line": float("nan")}, "must be a whole number"),
        ("list_files", {"recursive": 1}, "must be true or false"),
        ("list_files", {"folder": "."}, "Unknown argument. This tool takes: path, recursive."),
        ("list_files", {1: "."}, "Unknown argument."),
        ("read_file", {"path": "missing"}, 'There is no file or folder "missing".'),
    ):
        outcome = await toolbox.run(name, arguments)
        assert outcome.is_error
        assert words in outcome.text
        assert len(outcome.text) < 600


async def test_an_unexpected_error_is_logged_and_not_shown(
    toolbox: WorkspaceToolbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its text may name folders of the server."""

    def fail(*_args: object) -> str:
        raise RuntimeError("/somewhere/secret")

    monkeypatch.setattr(list_files, "run", fail)
    with caplog.at_level(logging.ERROR):
        outcome = await toolbox.run("list_files", {})
    assert outcome.is_error
    assert "secret" not in outcome.text
    assert "A tool failed" in caplog.text
