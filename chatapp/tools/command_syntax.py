"""Slash commands: a name at the beginning of a message, and the text that it is short for.

Their files may come from anywhere. All that a text can do is to stand in a message that somebody
sent with its name, for everybody to read.
"""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from chatapp.agent.errors import ToolError
from chatapp.tools.workspace import Workspace

# The folder of a workspace's commands, one file for each.
FOLDER = ".palimpsest/commands"
SUFFIX = ".md"

# Characters of a text, and of its description; commands of one workspace.
LONGEST_TEXT = 20_000
LONGEST_LINE = 200
MOST_COMMANDS = 100

COMMAND_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
# More of a path follows in "/usr/bin", and the end of a sentence in "/etc.": neither is a command.
_CALL = re.compile(r"/([A-Za-z0-9][A-Za-z0-9_-]{0,39})(?:\s+(.*))?", re.DOTALL)
_HEAD = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PLACE = re.compile(r"\$(?:ARGUMENTS\b|([1-9])(?!\d))")
_CLOSING = re.compile(r"<(?=/command\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A named text; ``hint`` shows its arguments, ``description`` its purpose."""

    name: str
    text: str
    description: str = ""
    hint: str = ""

    def expand(self, arguments: str) -> str:
        """Return the text with ``$ARGUMENTS``, and ``$1`` to ``$9``, in their places.

        Nothing that they say is taken for another place.
        """
        words = arguments.split()
        with suppress(ValueError):
            # Quotes keep several words together, where they are closed.
            words = shlex.split(arguments)

        def fill(place: re.Match[str]) -> str:
            if place[1] is None:
                return arguments
            number = int(place[1])
            return words[number - 1] if number <= len(words) else ""

        return _PLACE.sub(fill, self.text).strip()

    def directive(self, arguments: str) -> str:
        """Return the block that the model reads, and that every condensation keeps."""
        body = _CLOSING.sub("&lt;", self.expand(arguments))
        return f'<command name="{self.name}">\n{body}\n</command>'


def called_in(text: str) -> tuple[str, str] | None:
    """Return the name and arguments of a possible command, None for any other text."""
    found = _CALL.fullmatch(text.strip())
    return (found[1].lower(), (found[2] or "").strip()) if found else None


def read_command(name: str, source: str) -> SlashCommand:
    """Return the command that a text with a head of ``key: value`` lines describes."""
    # Browsers end the lines of a form as Windows does.
    source = source.replace("\r\n", "\n")
    head = _HEAD.match(source)
    said = dict(_entries(head[1])) if head else {}
    return SlashCommand(
        name=name,
        text=(source[head.end() :] if head else source).strip(),
        description=said.get("description", ""),
        hint=said.get("argument-hint", ""),
    )


def commands_in(workspace: Workspace) -> Iterator[SlashCommand]:
    """Yield the commands of a workspace by name; other files are skipped."""
    try:
        entries = [*workspace.walk(FOLDER, recursive=False)]
    except ToolError:
        return
    sources = (one.path for one in entries if one.kind == "file" and one.size <= 4 * LONGEST_TEXT)
    named = ((path.rpartition("/")[2].removesuffix(SUFFIX), path) for path in sources)
    known = [
        (name, path)
        for name, path in named
        if COMMAND_NAME.fullmatch(name) and path.endswith(SUFFIX)
    ]
    for name, path in known[:MOST_COMMANDS]:
        try:
            command = read_command(name, workspace.read_text(path))
        except ToolError:
            continue
        if 0 < len(command.text) <= LONGEST_TEXT:
            yield command


def _entries(head: str) -> Iterator[tuple[str, str]]:
    """Yield a head's keys and values, each value on one line that can be shown."""
    for line in head.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            value = value.strip()
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            bare = value[1:-1] if quoted else value
            shown = "".join(one if one.isprintable() else " " for one in bare)
            yield key.strip().lower(), " ".join(shown.split())[:LONGEST_LINE]
