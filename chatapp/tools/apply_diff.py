"""Changes parts of a text file: each block has lines to find and their replacement."""

from dataclasses import dataclass

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import Access, ToolSpec
from chatapp.tools import text_edits
from chatapp.tools.arguments import argument
from chatapp.tools.workspace import WritableWorkspace


@dataclass(frozen=True, slots=True)
class Arguments:
    """The file to change, and the blocks of the change."""

    path: str = argument("File to change, relative to the workspace.")
    diff: str = argument(f"One or more blocks of this shape:\n{text_edits.SHAPE}")


SPEC = ToolSpec(
    name="apply_diff",
    description=(
        "Change parts of a text file. Each block replaces lines, which must stand in the file once "
        "or near start_line; differences in white space are tolerated. All blocks are applied, or "
        "none."
    ),
    tally=condense.plural("Changed {count} file", "Changed {count} files"),
    access=Access.WRITE,
)


def preview(workspace: WritableWorkspace, arguments: Arguments) -> str:
    """Return the change as a unified diff."""
    before, after = _change(workspace, arguments)
    return text_edits.show_difference(arguments.path, before.text, after)


def run(workspace: WritableWorkspace, arguments: Arguments) -> str:
    """Change the file and say so."""
    before, after = _change(workspace, arguments)
    if after == before.text:
        raise ToolError("The blocks replace lines by the same lines, so nothing was changed.")
    workspace.write_bytes(arguments.path, before.encode(after))
    count = len(text_edits.read_blocks(arguments.diff))
    return f"Applied {count} {'block' if count == 1 else 'blocks'}."


def _change(workspace: WritableWorkspace, arguments: Arguments) -> tuple[text_edits.TextFile, str]:
    blocks = text_edits.read_blocks(arguments.diff)
    workspace.check(arguments.path)
    before = text_edits.read_whole(workspace, arguments.path)
    return before, text_edits.apply_blocks(before.text, blocks)
