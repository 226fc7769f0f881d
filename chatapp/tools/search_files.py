"""Finds lines in files by a regular expression.

RE2 runs it, in time linear in the text and in bounded memory for every pattern, and without holding
Python's lock. A pattern it can't take (look-around, back-references) is searched as text.
"""

import itertools
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import re2  # type: ignore[import-untyped]  # the wheel carries no types

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolSpec
from chatapp.tools.arguments import argument
from chatapp.tools.workspace import SKIPPED, Workspace

# One call's share of the context: matching lines, characters in all and of one line.
MAX_MATCHES = 200
MAX_FOUND_CHARS = 50_000
MAX_SHOWN_LINE = 300

# One call's share of the machine: seconds, and bytes read.
MAX_SECONDS = 10.0
MAX_SEARCHED_BYTES = 500 * 1024 * 1024

# Lines shown before and after a match.
CONTEXT = 1

# Characters of a pattern or a glob, and globs that one may stand for.
MAX_PATTERN, MAX_GLOBS = 1_000, 100

# One {a,b} of a glob, which stands for several.
_ONE_OF = re.compile(r"\{([^{}]*)\}")

_Pattern = Any  # re2's compiled pattern


@dataclass(frozen=True, slots=True)
class Arguments:
    """The pattern, and the folder and files to search."""

    pattern: str = argument("Regular expression (RE2 syntax), matched line by line.")
    path: str = argument("File or folder to search, relative to the workspace.", default=".")
    glob: str | None = argument("Search only files like this, such as *.py.", default=None)


SPEC = ToolSpec(
    name="search_files",
    description=(
        "Find lines that match a regular expression in the text files of a folder and of the "
        "folders inside. Case matters; begin the pattern with (?i) if it should not. Look-around "
        "and back-references are not supported. Folders such as .git and node_modules are searched "
        "only if they are named as path."
    ),
    tally=condense.plural("Searched once", "Searched {count} times"),
)


def run(workspace: Workspace, arguments: Arguments) -> str:
    """Return the matching lines under their files' names, with a line of context around each."""
    pattern, notes = _compile(arguments.pattern)
    glob = arguments.glob or "*"
    globs = [*itertools.islice(_spelled_out(glob[:MAX_PATTERN]), MAX_GLOBS + 1)]
    if len(glob) > MAX_PATTERN or len(globs) > MAX_GLOBS:
        raise ToolError("The argument 'glob' stands for too many others.")
    used = _Used()
    for entry in workspace.walk(arguments.path):
        if used.stopped:
            break
        path, name = entry.path, entry.path.rpartition("/")[2]
        wanted = (
            fnmatchcase(path, glob) or fnmatchcase(name, glob.removeprefix("**/")) for glob in globs
        )
        used.unread += entry.closed and name not in SKIPPED
        if entry.kind == "file" and any(wanted):
            _search(pattern, workspace, path, used)
    if used.unread:
        said = "can't be read, lie too deep or have too many entries: not all searched"
        notes.append(f"[{used.unread:,} folders {said}.]")
    if used.skipped:
        notes.append(f"[{used.skipped:,} files are no text or too large and were not searched.]")
    if used.stopped:
        notes.append(f"[Stopped after {used.stopped}. Narrow the pattern, the path or the glob.]")
    return "\n\n".join([*(used.found or ["No line matches."]), *notes])


def _spelled_out(glob: str) -> Iterator[str]:
    """Yield the plain globs that a glob stands for; its ``**/`` may be no folder at all."""
    if parts := _ONE_OF.search(glob):
        for one in parts[1].split(","):
            yield from _spelled_out(glob[: parts.start()] + one + glob[parts.end() :])
        return
    yield from {glob, glob.replace("/**/", "/")}


def _compile(pattern: str) -> tuple[_Pattern, list[str]]:
    """Return the compiled pattern, and a note if it had to be taken as text."""
    if not pattern or len(pattern) > MAX_PATTERN:
        raise ToolError(f"The argument 'pattern' must have 1 to {MAX_PATTERN:,} characters.")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.never_nl = True
    try:
        return re2.compile(f"(?m){pattern}", options), []
    except re2.error:
        note = "[This is no regular expression that RE2 knows, so it was searched as text.]"
        return re2.compile(re2.escape(pattern), options), [note]
    except UnicodeError as error:
        raise ToolError("The argument 'pattern' is not valid Unicode.") from error


@dataclass(slots=True)
class _Used:
    """The found blocks of lines, and the search's cost so far."""

    found: list[str] = field(default_factory=list)
    matches: int = 0
    text: int = 0
    files: int = 0
    skipped: int = 0
    unread: int = 0
    bytes: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def stopped(self) -> str:
        """The reason to stop the search, "" while it goes on."""
        if self.matches >= MAX_MATCHES or self.text >= MAX_FOUND_CHARS:
            return f"{self.matches:,} matching lines were found"
        if self.bytes >= MAX_SEARCHED_BYTES or time.monotonic() - self.started > MAX_SECONDS:
            return f"{self.files:,} files were searched"
        return ""


def _search(pattern: _Pattern, workspace: Workspace, path: str, used: _Used) -> None:
    """Add the file's matching lines to the found blocks."""
    try:
        data = workspace.read_text(path).encode()
    except ToolError:
        used.skipped += 1
        return
    used.files += 1
    used.bytes += len(data)
    numbers = list(itertools.islice(_find_lines(pattern, data), MAX_MATCHES - used.matches))
    if numbers:
        block = "\n".join([path, *_with_context(data.decode().split("\n"), numbers)])
        used.found.append(block[:MAX_FOUND_CHARS])
        used.text += len(block)
        used.matches += len(numbers)


def _find_lines(pattern: _Pattern, data: bytes) -> Iterator[int]:
    """Yield the numbers of the lines that match, from 0."""
    start = number = 0
    while start < len(data) and (match := pattern.search(data, start)):
        number += data.count(b"\n", start, match.start())
        end = data.find(b"\n", match.start())
        # A match at the very end, after the last newline, is on no line.
        if match.start() == len(data) and data.endswith(b"\n"):
            return
        yield number
        if end < 0:
            return
        start, number = end + 1, number + 1


def _with_context(lines: list[str], numbers: list[int]) -> Iterator[str]:
    """Yield the matching lines as ``12: …``, those around them as ``11- …``, gaps as ``--``."""
    matching = set(numbers)
    last = len(lines) - (2 if lines[-1] == "" else 1)
    shown = -1
    for number in numbers:
        first = max(number - CONTEXT, shown + 1, 0)
        if shown >= 0 and first > shown + 1:
            yield "--"
        for one in range(first, min(number + CONTEXT, last) + 1):
            more = "…" if len(lines[one]) > MAX_SHOWN_LINE else ""
            yield f"{one + 1}{':' if one in matching else '-'} {lines[one][:MAX_SHOWN_LINE]}{more}"
            shown = one
