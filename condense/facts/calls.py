"""Calls of tools: their results, and the files and commands that their arguments name."""

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from condense.facts.texts import leaves, one_line, result_text
from condense.history.boundaries import pair_calls
from condense.messages import Message, user_words

Outcome = Literal["ok", "failed", "unknown"]

_EXIT_CODE = re.compile(r"\s*(?:(?:Process exited|Command failed) with )?exit code:? [1-9]", re.I)
_NAMES = tomllib.loads(resources.files(__package__).joinpath("calls.toml").read_text("utf-8"))
_PATHS, _EDITS, _SEARCHES, _MOVES, _LOOKUPS, _GIT = [{*one.split()} for one in _NAMES.values()]
# Arguments that say what is to be run: for a shell, an interpreter, a database.
_COMMANDS = ("command", "cmd", "commands", "script", "code", "sql", "query")
# The words of a search are no command, as a database's are.
_STATEMENT = re.compile(r"\s*(?:select|insert|update|delete|with|create|alter|drop)\s", re.I)
_LISTING = re.compile(r"list|glob|tree|\bls\b|(?:^|_)dir", re.IGNORECASE)
_CHANGING = re.compile(r"write|edit|patch|replace|insert|create|delete|remove|move", re.IGNORECASE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_SUFFIX = re.compile(r"[^./\\]\.\w{1,12}$")
PATH_CHARS = 400  # more is no path
TELLING_CHARS, COMMAND_CHARS = 60, 240  # that tell one command from another; of the longest
SUBJECT_CHARS = 60  # of what a call is about
_SEPARATOR = re.compile(r"&&|\|\||;|\|")
# A separator between parts, or a text in which there is none.
_QUOTED = re.compile(r""""(?:\\.|[^"\\])*+"|'[^']*+'|["'].*|\\.|(&&|\|\|?|;)""")
ERROR_CHARS = 120
_SEARCHED_CHARS = 20_000  # of an answer that are looked at
_TELLING = re.compile(
    r"error|fail|exception|fatal|panic|not found|no such|cannot|can't|denied|conflict|undefined",
    re.IGNORECASE,
)
_PLACE = re.compile(r"/|.:\d")  # a path, or a place in a file
# Two words, or some signs of a script without spaces.
_SAYING = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,}+\W++[^\W\d_]{2}|[\u2e80-\u9fff\uac00-\ud7ff]{4}")
# Tags, an exit code, and that a person stopped it say nothing of an error.
_SILENT = re.compile(
    r"</?\w+>|^.*\bexit code:? \d+\W*$|^.*\buser (?:doesn't want|for tool).*", re.I | re.M
)


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """One tool call, its answer, and the user's words in the answer by their mark."""

    name: str
    arguments: Mapping[str, Any]
    outcome: Outcome
    answer: str = ""
    user_words: str = ""

    @property
    def about(self) -> str:
        """The call in a line: its name, and the first line of its first text."""
        first = next((text for text in leaves(self.arguments) if text.strip()), "")
        return one_line(f"{self.name} {first.strip().partition('\n')[0]}".strip(), SUBJECT_CHARS)


def read_calls(messages: Sequence[Message]) -> Iterator[tuple[Message, FinishedCall]]:
    """Yield each call with the message that answers it; those without an answer come last."""
    pairing = pair_calls(messages)
    for pair in pairing.answered:
        answer, words = result_text(pair.result), user_words(pair.result)
        outcome: Outcome = "failed" if pair.result.is_error or _EXIT_CODE.match(answer) else "ok"
        if outcome == "failed" and words:
            # It was refused for a reason: nobody knows how it would have gone.
            outcome = "unknown"
        arguments = pair.call.input if isinstance(pair.call.input, Mapping) else {}
        yield (
            messages[pair.answered_at],
            FinishedCall(pair.call.name, arguments, outcome, answer, words),
        )
    for place, use in pairing.unanswered:
        arguments = use.input if isinstance(use.input, Mapping) else {}
        yield messages[place], FinishedCall(use.name, arguments, "unknown")


def touched_paths(call: FinishedCall) -> tuple[str, ...]:
    """Return the files the call names, each once; folders that it searches are left out."""
    found = [*_named(call.arguments)]
    for value in call.arguments.values():
        if isinstance(value, str) and value.startswith("*** Begin Patch"):
            found += _PATCHED.findall(value)
    if _SEARCHES.intersection(map(_plain, call.arguments)) or _LISTING.search(call.name):
        found = [path for path in found if _SUFFIX.search(path)]
    return tuple(dict.fromkeys([path for item in found if (path := normal_path(item))]))


def is_edit(call: FinishedCall) -> bool:
    """True if the call changes the files it names."""
    keys = {*map(_plain, call.arguments)}
    if keys & _SEARCHES or call.arguments.get("command") == "view":
        return False
    return bool(keys & _EDITS or _CHANGING.search(call.name))


def normal_path(path: str) -> str:
    """Return the path without ``./`` and doubled slashes; empty if it can't be one."""
    if len(path) > PATH_CHARS or not path.isprintable() or "://" in path:
        return ""
    path = posixpath.normpath(path.strip())
    return "" if path == "." else path


@lru_cache(1_000)  # arguments have few names, and each is asked about in every call
def _plain(key: str) -> str:
    return key.replace("_", "").lower()


def _named(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths that arguments give: one, or several in a list."""
    for key, value in arguments.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from _named(item)
            elif isinstance(item, str) and _plain(key).removesuffix("s") in _PATHS:
                yield item


def command_of(call: FinishedCall) -> str:
    """Return the first line of the call's command, without comments; empty if it runs none.

    A long line is cut to its first parts, each whole, so that they could be run again.
    """
    given = [call.arguments[key] for key in _COMMANDS if key in call.arguments]
    if given and given[0] is call.arguments.get("query") and not _STATEMENT.match(str(given[0])):
        return ""
    texts = [" ".join(map(str, one)) if isinstance(one, list) else one for one in given]
    text = next((one for one in texts if isinstance(one, str)), "")
    lines = map(str.strip, text.replace("\\\n", " ").split("\n"))
    said = next((line for line in lines if line and not line.startswith("#")), "")
    line = " ".join(said.split())
    ends = [found.start() for found in _QUOTED.finditer(line) if found[1]]
    ends = [end for end in (0, *ends, len(line)) if end <= COMMAND_CHARS]
    return line[: next((end for end in ends if end >= TELLING_CHARS), ends[-1])].rstrip()


def is_lookup(command: str) -> bool:
    """Return True if a command only looks something up: its result matters, not the run."""
    words = _first_part(command) or ["echo"]
    if words[0] == "git":
        return any(word in _GIT for word in words[1:4])
    return words[0].lower() in _LOOKUPS


def kind_of(command: str) -> str:
    """Return a command's kind: the first two words of the first part that does something."""
    return " ".join(_first_part(command)[:2])


def _first_part(command: str) -> list[str]:
    """Return the words of the first part that does something."""
    parts = [words for part in _SEPARATOR.split(command) if (words := part.split())]
    return next((words for words in parts if words[0] not in _MOVES), [])


def error_line(answer: str) -> str:
    """Return the most significant line of an error, "" if none says anything.

    That is Python's last one, else the first that names an error, else the first; a word and a
    path say nothing.
    """
    lines = [line.strip() for line in _SILENT.sub("", answer[:_SEARCHED_CHARS]).split("\n")]
    lines = [line for line in lines if _says_something(line)]
    if "Traceback (most recent call last)" in answer:
        lines.reverse()
    return one_line(next(filter(_TELLING.search, lines), "\n".join(lines[:1])), ERROR_CHARS)


def _says_something(line: str) -> bool:
    words = " ".join([word for word in line.split() if not _PLACE.search(word)])
    return bool(_SAYING.search(words)) and not words.endswith(":")
