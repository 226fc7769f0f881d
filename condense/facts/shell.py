"""Commands as the shell, an interpreter or a database got them."""

import re

from condense.facts.calls import Call
from condense.facts.plain import one_line

HEAD = 60  # characters; enough to know a command again
_SHORT = 8  # a first line below this says nothing alone
_SEPARATOR = re.compile(r"&&|\|\||;|\|")
MOVES = {"cd", "pushd", "export", "set", "source", "sleep", "echo"}
_LOOKUPS = {
    "awk", "cat", "cut", "df", "diff", "du", "echo", "egrep", "fd", "file", "find", "grep", "head",
    "jq", "less", "ls", "nl", "od", "pwd", "rg", "sed", "sort", "stat", "strings", "tail", "tree",
    "type", "uniq", "wc", "which", "xxd", "select", "describe", "explain",
}  # fmt: skip
_GIT_LOOKUPS = {
    "blame", "branch", "cat-file", "diff", "grep", "log", "ls-files", "ls-remote", "ls-tree",
    "merge-base", "reflog", "rev-list", "rev-parse", "shortlog", "show",
}  # fmt: skip
# Arguments that say what is to be run: for a shell, an interpreter, a database.
_COMMANDS = ("command", "cmd", "commands", "script", "code", "sql", "query")
# What a shell goes on after, whatever came of it: then the exit code is that of another part.
_GOES_ON = re.compile(r"\||;|\n")


def command_of(call: Call) -> str:
    """Return the command line that the call runs, empty where it runs none."""
    for key in _COMMANDS:
        value = call.arguments.get(key)
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return " ".join(value)
        if isinstance(value, str):
            return value
    return ""


def head_of(command: str) -> str:
    """Return the first line's first 60 characters; the next line too where it says nothing."""
    first, _, rest = command.partition("\n")
    if len(first.strip()) < _SHORT and rest.strip():
        first = f"{first} {rest.strip().partition('\n')[0]}".lstrip()
    return one_line(first, HEAD)


def hides_failure(command: str) -> bool:
    """Whether the line ends well whatever becomes of its parts, as ``make | tail`` does."""
    return "pipefail" not in command and bool(_GOES_ON.search(command.strip()))


def parts_of(command: str) -> list[list[str]]:
    """Return the words of each command in the first line."""
    first = command.partition("\n")[0]
    return [words for part in _SEPARATOR.split(first) if (words := part.split())]


def is_lookup(head: str) -> bool:
    """Whether a command only looks something up: what it found matters, not that it ran."""
    words = next((words for words in parts_of(head) if words[0] not in MOVES), ["echo"])
    if words[0] == "git":
        return any(word in _GIT_LOOKUPS for word in words[1:4])
    return words[0].lower() in _LOOKUPS
