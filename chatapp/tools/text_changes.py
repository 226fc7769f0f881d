"""Texts as tools change them: with newlines inside, and as it was outside."""

import difflib
from dataclasses import dataclass
from itertools import islice

from chatapp.agent.errors import ToolError
from chatapp.tools.workspace import Workspace, is_text, quote

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text; with ``crlf`` all its lines ended so, and have plain newlines here.

    ``marked`` says that it began with a byte order mark.
    """

    text: str
    crlf: bool = False
    marked: bool = False

    def encode(self, text: str) -> bytes:
        """Return another text in the same form."""
        if self.crlf:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise ToolError("The text holds half a character, which no file can.") from error
        return _BOM + data if self.marked else data


def read_whole(workspace: Workspace, path: str) -> TextFile:
    """Return a text file; raise ToolError where there is none."""
    data = workspace.read_bytes(path)
    if not is_text(data):
        raise ToolError(f"{quote(path)} is not a UTF-8 text file.")
    ends = data.count(b"\r\n")
    crlf = ends > 0 and ends == data.count(b"\n")
    text = data.removeprefix(_BOM).decode()
    # In a file of both kinds each line keeps its own.
    return TextFile(text.replace("\r\n", "\n") if crlf else text, crlf, data.startswith(_BOM))


def read_if_there(workspace: Workspace, path: str) -> TextFile | None:
    """Return a text file, None where there is none, or another kind of file."""
    if not workspace.holds(path):
        return None
    try:
        return read_whole(workspace, path)
    except ToolError:
        return None


def encode_like(before: TextFile | None, text: str) -> bytes:
    """Return a text as a file has it that was there before."""
    return (before or TextFile("")).encode(text)


# Lines, and characters of one; what is longer is said in numbers.
MAX_LINES = 2_000
MAX_LINE = 1_000
# Lines that are compared; beyond, the work grows with their square.
MAX_COMPARED = 10_000


def show_difference(path: str, before: str | None, after: str) -> str:
    """Return the diff from one text to another, None being no file; "" where they are the same."""
    old, new = (before or "").splitlines(), after.splitlines()
    if before is not None and before == after:
        return ""
    if len(old) + len(new) > MAX_COMPARED:
        return f"--- {path}\n+++ {path}\n[{len(old):,} lines become {len(new):,}.]"
    was = path if before is not None else "/dev/null"
    lines = list(islice(difflib.unified_diff(old, new, was, path, lineterm=""), MAX_LINES + 1))
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"[Only the first {MAX_LINES:,} lines of the difference.]"]
    return "\n".join(line[:MAX_LINE] for line in lines) or f"--- {was}\n+++ {path}"
