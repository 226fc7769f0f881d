"""Commands as the shell got them: their heads to show, their families to compare."""

import re

from condense.facts.calls import Call
from condense.facts.plain import one_line

HEAD = 60  # characters; enough to know a command again
_SHORT = 8  # a first line below this says nothing alone
_SEPARATOR = re.compile(r"&&|\|\||;|\|")
_WORD = re.compile(r"[A-Za-z][\w:-]*")
_RUNNERS = {"run", "exec", "-m"}
_MOVES = {"cd", "pushd", "export", "set", "source", "sleep", "echo"}
_LOOKUPS = frozenset(
    [
        "awk",
        "cat",
        "cut",
        "df",
        "diff",
        "du",
        "echo",
        "egrep",
        "fd",
        "file",
        "find",
        "grep",
        "head",
        "jq",
        "less",
        "ls",
        "nl",
        "od",
        "pwd",
        "rg",
        "sed",
        "sort",
        "stat",
        "strings",
        "tail",
        "tree",
        "type",
        "uniq",
        "wc",
        "which",
        "xxd",
    ]
)
_GIT_LOOKUPS = frozenset(
    [
        "blame",
        "branch",
        "cat-file",
        "diff",
        "grep",
        "log",
        "ls-files",
        "ls-remote",
        "ls-tree",
        "merge-base",
        "reflog",
        "rev-list",
        "rev-parse",
        "shortlog",
        "show",
    ]
)


def command_of(call: Call) -> str:
    """Return the command line that the call runs, empty where it runs none."""
    for key in ("command", "cmd", "commands"):
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


def families_of(command: str) -> frozenset[str]:
    """Return what kinds of commands a line runs, as ``git push`` or ``npm run lint``.

    Paths, flags and other arguments say nothing about the kind.
    """
    parts = (_family(part.split()) for part in _SEPARATOR.split(command.partition("\n")[0]))
    return frozenset(part for part in parts if part)


def is_lookup(head: str) -> bool:
    """Whether a command only looks something up: what it found matters, not that it ran."""
    parts = (part.split() for part in _SEPARATOR.split(head))
    words = next((part for part in parts if part and part[0] not in _MOVES), ["echo"])
    if words[0] == "git":
        return any(word in _GIT_LOOKUPS for word in words[1:4])
    return words[0] in _LOOKUPS


def _family(words: list[str]) -> str:
    words = [word for word in words if word in _RUNNERS or _WORD.fullmatch(word)]
    if not words or words[0] in _MOVES:
        return ""
    return " ".join(words[: 3 if len(words) > 1 and words[1] in _RUNNERS else 2])
