"""The to-do list: what is one, and what is none."""

from pathlib import Path

from chatapp.tools import WorkspaceToolbox
from chatapp.tools.update_todo_list import read_items


async def test_a_list_is_counted(folder: Path) -> None:
    """Done, in progress and to do."""
    todos = "[x] Read\n- [-] Write\n\n2. [ ] Test"
    outcome = await WorkspaceToolbox(folder).run("update_todo_list", {"todos": todos})
    assert outcome.text == "The list has 3 items; 1 are done."
    assert read_items(todos) == [("x", "Read"), ("-", "Write"), (" ", "Test")]
    assert read_items(f"[ ] {'x' * 501}") == [(" ", f"{'x' * 500}…")]


async def test_what_is_no_list_is_refused(folder: Path) -> None:
    """With the line that is none."""
    for todos in ("Read", "[?] Read", "[ ]", "[ ] x\n" * 101):
        outcome = await WorkspaceToolbox(folder).run("update_todo_list", {"todos": todos})
        assert outcome.is_error
