"""Lists the files of a folder with their sizes."""

import itertools
from dataclasses import dataclass

import condense
from chatapp.agent.ports import ToolSpec
from chatapp.tools.arguments import argument
from chatapp.tools.workspace import SKIPPED, Workspace, show_size

# Lines, and characters in all: a listing is for finding the way, not for reading.
MAX_LISTED_LINES = 500
MAX_LISTED_CHARS = 50_000


@dataclass(frozen=True, slots=True)
class Arguments:
    """The folder to list."""

    path: str = argument("Folder to list, relative to the workspace.", default=".")
    recursive: bool = argument("Whether to list the folders inside as well.", default=False)


SPEC = ToolSpec(
    name="list_files",
    description=(
        "List files and folders with their sizes, sorted by name. An odd byte in a name is written "
        "as %XX; pass the name on as it is listed. "
        f"With recursive, {', '.join(sorted(SKIPPED))} are named but not listed; name one as "
        "path to look into it."
    ),
    tally=condense.plural("Listed {count} folder", "Listed {count} folders"),
)


def run(workspace: Workspace, arguments: Arguments) -> str:
    """Return one line per entry, folders with a slash at the end."""
    entries = workspace.walk(arguments.path, recursive=arguments.recursive)
    lines: list[str] = []
    length = 0
    for entry in itertools.islice(entries, MAX_LISTED_LINES + 1):
        line = f"{entry.path}/" if entry.kind == "folder" else f"{entry.path} ({entry.kind})"
        if entry.kind == "file":
            line = f"{entry.path} ({show_size(entry.size)})"
        elif entry.closed and arguments.recursive:
            line += " (not listed)"
        length += len(line) + 1
        if len(lines) == MAX_LISTED_LINES or length > MAX_LISTED_CHARS:
            lines.append(f"[Only the first {len(lines):,} entries. List a folder inside instead.]")
            break
        lines.append(line)
    return "\n".join(lines) or "The folder is empty."
