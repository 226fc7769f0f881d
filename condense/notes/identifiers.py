"""Identifiers that calls and replies name or results print, those of often and lately first."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from condense.notes.tool_calls import Call

# What a call named counts less with each call after it: half of it is gone after 23. Measured on
# recorded sessions: of what the next 20 calls name, the 80 weightiest are three in five.
DECAY, MOST = 0.97, 80
# A result prints all there is: what the newest ones, those of a half-life, print at least twice is
# what they are about, and many of those names together weigh as much as one that was written.
HALF_LIFE, PRINTED, TIMES = 23, 1 / 3, 2
# What was named before so many calls counts for little beside so many names.
FADED, ENOUGH = 2 * HALF_LIFE, 2 * MOST
_WORD = re.compile(r"[\w/]+")  # with its slashes: a part of a path is no identifier
SHORTEST, LONGEST = 3, 61  # characters
_SEARCHED = 20_000  # characters of an argument that are looked at
_ESCAPES = re.compile(r"\\[nrt]")  # they would grow together with the word behind them
# Arguments that choose among a tool's own words, in small letters and without underscores.
_CHOICES = {"outputmode", "mode", "status", "type", "subagenttype", "action"}


@dataclass(frozen=True, slots=True)
class _Told:
    """What names things: a call's arguments, its answer and its file, or a reply; after ``at``."""

    at: int
    words: Any
    answer: str = ""
    path: str = ""


class Identifiers:
    """Weighs identifiers, and knows the file that each was named with last."""

    def __init__(self) -> None:
        self._told: list[_Told] = []
        self._carried: dict[str, tuple[int, str]] = {}
        self._calls = 0

    def hear(self, reply: str) -> None:
        """Weigh what a reply names."""
        if reply:
            self._told.append(_Told(self._calls, reply))

    def note(self, call: Call, path: str) -> None:
        """Weigh what a call names; ``path`` is its file, empty where it has none."""
        self._calls += 1
        self._told.append(_Told(self._calls, call.arguments, call.answer, path))

    def carry(self, names: Mapping[str, str]) -> None:
        """Take over names with their files from an earlier ledger, as if each was just printed."""
        self._carried |= {name: (self._calls, path) for name, path in names.items()}

    def weightiest(self) -> Iterator[tuple[str, str]]:
        """Yield each with its file; of long ago no more than there is room for anyway."""
        weights: defaultdict[str, float] = defaultdict(float)
        files: dict[str, str] = {}
        printed: dict[str, str] = {}
        for told in reversed(self._told):
            age = self._calls - told.at
            if age > FADED and len(weights) > ENOUGH:
                break
            fade = DECAY**age
            for name in _names(told.words):
                weights[name] += fade
                if told.path:
                    files.setdefault(name, told.path)
            words = _WORD.findall(told.answer[:_SEARCHED]) if age < HALF_LIFE else ()
            again = [word for word, times in Counter(words).items() if times >= TIMES]
            for name in filter(_is_identifier, again):
                weights[name] += PRINTED * fade
                printed.setdefault(name, told.path)
        for name, (at, path) in self._carried.items():
            weights[name] += PRINTED * DECAY ** (self._calls - at)
            files[name] = files.get(name, path)
        for name in sorted(weights, key=lambda name: -weights[name]):
            yield name, files.get(name) or printed.get(name, "")


def _names(arguments: Any) -> Iterator[str]:
    words: dict[str, None] = {}
    for text in _told(arguments):
        part = text[:_SEARCHED]
        if "\\" in part:
            part = _ESCAPES.sub(" ", part)
        words.update(dict.fromkeys(_WORD.findall(part)))
    return filter(_is_identifier, words)


def _told(value: Any) -> Iterator[str]:
    """Yield the texts of arguments, but those that only choose."""
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                if str(key).replace("_", "").lower() not in _CHOICES:
                    yield from _told(item)
        case list():
            for item in value:
                yield from _told(item)


@lru_cache(10_000)  # a session's calls say few words, again and again
def _is_identifier(word: str) -> bool:
    """Whether a word is put together as only code does it: with "_" or letters of both cases."""
    if not SHORTEST <= len(word) <= LONGEST or word[0].isdigit() or "/" in word:
        return False
    inner = word[1:]
    if inner.islower():
        return "_" in inner and "_" in word.strip("_")
    return "_" in word.strip("_") or not (word.isupper() or inner == inner.lower())
