"""Writes a whole text file."""

from dataclasses import dataclass

import condense
from chatapp.agent.ports import Access, ToolSpec
from chatapp.tools.arguments import argument
from chatapp.tools.text_edits import TextFile, read_if_there, show_difference
from chatapp.tools.workspace import WritableWorkspace


@dataclass(frozen=True, slots=True)
class Arguments:
    """The file to write, and its content."""

    path: str = argument("File to write, relative to the workspace.")
    content: str = argument("The whole content of the file.")


SPEC = ToolSpec(
    name="write_file",
    description=(
        "Write a whole text file; folders are made as needed, and what was there is replaced. "
        "Change a part of a long file with apply_diff instead."
    ),
    tally=condense.plural("Wrote {count} file", "Wrote {count} files"),
    access=Access.WRITE,
)


def preview(workspace: WritableWorkspace, arguments: Arguments) -> str:
    """Return the change as a unified diff."""
    workspace.check(arguments.path)
    before = read_if_there(workspace, arguments.path)
    if before is None and workspace.holds(arguments.path):
        shown = show_difference(arguments.path, "", arguments.content)
        return f"{shown}\n[This replaces a file that can't be shown.]"
    return show_difference(arguments.path, before.text if before else None, arguments.content)


def run(workspace: WritableWorkspace, arguments: Arguments) -> str:
    """Write the file with its former line ends, and return a sentence about the change."""
    before = read_if_there(workspace, arguments.path)
    data = (before or TextFile("")).encode(arguments.content)
    replaced = workspace.write_bytes(arguments.path, data)
    lines = len(arguments.content.removesuffix("\n").split("\n")) if arguments.content else 0
    return f"{'Replaced' if replaced else 'Made'} the file; it has {lines:,} lines."
