"""Tool calls with what came of them, told by the shape of their arguments."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from condense.history.boundaries import pair_calls
from condense.messages import Message, ToolUseBlock
from condense.notes.sentences import one_line, result_text

Outcome = Literal["ok", "failed", "refused", "unknown"]

# What agents answer where the user said no.
_REFUSED = re.compile(
    r"\s*(?:\[[^\]\n]{0,60}\]\s)?(?:Reason: )?(?:The )?user (?:has )?"
    r"(?:doesn't want|does not want|rejected|denied|declined|refused)"
    r"|[^\n]{0,80}\b(?:rejected|denied|declined|refused|cancell?ed) by (?:the )?user\b"
    r'|\s*\{\s*"status":\s*"(?:denied|rejected|declined|refused)"',
    re.IGNORECASE,
)
# All of these hold one of two words, which is found ten times as fast.
_BEGINNING = 400  # characters
_EXIT_CODE = re.compile(
    r"^\s*(?:Process exited with |Command failed with )?exit code:? [1-9]", re.I
)


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call, its arguments, and what was answered."""

    name: str
    arguments: Mapping[str, Any]
    outcome: Outcome
    answer: str = ""


def read_calls(messages: Sequence[Message]) -> Iterator[tuple[Message, Call]]:
    """Yield each call with the message that answers it; those without an answer come last."""
    pairing = pair_calls(messages)
    for pair in pairing.answered:
        use, answer = pair.call, result_text(pair.result)
        outcome = _outcome(answer, is_error=pair.result.is_error)
        yield messages[pair.answered_at], Call(use.name, _arguments(use), outcome, answer)
    for place, use in pairing.unanswered:
        yield messages[place], Call(use.name, _arguments(use), "unknown")


def _arguments(use: ToolUseBlock) -> Mapping[str, Any]:
    return use.input if isinstance(use.input, Mapping) else {}


def _outcome(answer: str, *, is_error: bool) -> Outcome:
    beginning = answer[:_BEGINNING].casefold()
    if ("user" in beginning or '"status"' in beginning) and _REFUSED.match(answer):
        return "refused"
    return "failed" if is_error or _EXIT_CODE.match(answer) else "ok"


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


_WORD = re.compile(r"[A-Za-z][\w:-]*")
_RUNNERS = {"run", "exec", "-m"}
# Messages and other quoted words name no target; what chooses among tests does.
_QUOTED = re.compile(r"(?<!-k )(?<!-run )(?<!-t )(?<!--grep )(?<!-g )(['\"])[^'\"]*+(?:\1|$)")
_EVERYTHING = {".", "./", "./...", "...", "*"}


@dataclass(frozen=True, slots=True)
class Aim:
    """A kind of command, as ``go test``, and the names and paths that it is run for."""

    family: str
    names: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()

    def covers(self, other: "Aim") -> bool:
        """Whether this runs at least what the other one runs."""
        if self.family != other.family or not self.names <= other.names:
            return False
        if not self.paths:
            return True
        folders = tuple([f"{path}/" for path in self.paths])
        return bool(other.paths) and all(f"{path}/".startswith(folders) for path in other.paths)


def aims_of(command: str) -> frozenset[Aim]:
    """Return what each part of a line is about; looking something up is about nothing."""
    parts = parts_of(_QUOTED.sub("", command.partition("\n")[0]))
    return frozenset([aim for words in parts if (aim := _aim(words)).family])


def settles(done: Iterable[Aim], failed: Iterable[Aim]) -> bool:
    """Whether all that failed, or may have, was done since."""
    done, failed = [*done], [*failed]
    return bool(failed) and all(any(one.covers(other) for one in done) for other in failed)


def _aim(words: list[str]) -> Aim:
    named = [word for word in words if word in _RUNNERS or _WORD.fullmatch(word)]
    if not named or words[0] in MOVES or is_lookup(" ".join(words[:4])):
        return Aim("")
    kind = named[: 3 if len(named) > 1 and named[1] in _RUNNERS else 2]
    targets = frozenset(_targets([word for word in words if word not in kind]))
    paths = frozenset([word for word in targets if "/" in word or "." in word])
    shown = frozenset([path.removesuffix("/...").rstrip("/") for path in paths - _EVERYTHING])
    return Aim(" ".join(kind), targets - paths - _EVERYTHING, shown)


def _targets(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        flag, _, value = word.partition("=")
        target = value if flag.startswith("-") else word
        if target and not target.isdigit() and not set(target) & set("<>&"):
            yield target
