"""Reads a text file, or some lines of it, with line numbers; a document's text, and images."""

from dataclasses import dataclass

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolOutcome, ToolSpec
from chatapp.tools.arguments import argument
from chatapp.tools.documents import image_of, read_document
from chatapp.tools.workspace import Workspace, quote, show_size

# One call's share of the context: lines, characters in all, and characters of one line.
MAX_READ_LINES = 2_000
MAX_READ_CHARS = 100_000
MAX_READ_LINE = 2_000


@dataclass(frozen=True, slots=True)
class Arguments:
    """The file, and its first and last line to read, both included."""

    path: str = argument("File to read, relative to the workspace.")
    start_line: int = argument("First line to read.", default=1, minimum=1)
    end_line: int | None = argument("Last line to read.", default=None, minimum=1)


SPEC = ToolSpec(
    name="read_file",
    description=(
        "Read a text file, the text of a PDF, .docx, .xlsx or .pptx, or an image. Each line comes "
        "with its number and a tab before it. One call returns at most "
        f"{MAX_READ_LINES:,} lines or {MAX_READ_CHARS:,} characters and says how to read on."
    ),
    tally=condense.plural("Read {count} file", "Read {count} files"),
)


def run(workspace: Workspace, arguments: Arguments) -> str | ToolOutcome:
    """Return the numbered lines, and a note when there are more; an image as it is."""
    data = workspace.read_bytes(arguments.path)
    if image := image_of(data):
        return ToolOutcome(f"The image has {show_size(len(data))}.", images=(image,))
    document = read_document(data)
    text, _, guess = (*document, "") if document else workspace.read_encoded(arguments.path)
    lines = _lines(text.replace("\r\n", "\n").removesuffix("\n").split("\n"), arguments)
    return f"{lines}\n[Read as {guess}.]" if guess else lines


def _lines(lines: list[str], arguments: Arguments) -> str:
    if lines == [""]:
        return "The file is empty."
    first, last = arguments.start_line, min(arguments.end_line or len(lines), len(lines))
    if first > len(lines):
        raise ToolError(f"{quote(arguments.path)} has only {len(lines):,} lines.")
    if first > last:
        raise ToolError("The argument 'end_line' must not be before 'start_line'.")
    numbered: list[str] = []
    room = MAX_READ_CHARS
    for number, line in enumerate(lines[first - 1 : last][:MAX_READ_LINES], start=first):
        rest = len(line) - MAX_READ_LINE
        more = f"… [{rest:,} more characters in this line]" if rest > 0 else ""
        one = f"{number:>6}\t{line[:MAX_READ_LINE]}{more}"
        room -= len(one) + 1
        if room < 0 and numbered:
            break
        numbered.append(one)
    reached = first + len(numbered) - 1
    if reached < last:
        numbered.append(
            f"[Lines {first:,} to {reached:,} of {len(lines):,}. "
            f"Read on with start_line={reached + 1}.]"
        )
    return "\n".join(numbered)
