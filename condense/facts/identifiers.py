"""Identifiers that calls and replies name or results print, those of often and lately first."""

import re
from collections import Counter, deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from condense.facts.calls import Call

# What a call named counts less with each call after it: half of it is gone after 23. Measured on
# recorded sessions: of what the next 20 calls name, the 80 weightiest are three in five.
DECAY, MOST = 0.97, 80
# A result prints all there is: what the newest ones, those of a half-life, print at least twice is
# what they are about, and many of those names together weigh as much as one that was written.
HALF_LIFE, PRINTED, TIMES = 23, 1 / 3, 2
_WORD = re.compile(r"(?<![\w/])[^\W\d]\w{2,60}+(?![\w/])")  # no part of a path
_SEARCHED = 20_000  # characters of an argument that are looked at
_ESCAPES = re.compile(r"\\[nrt]")  # they would grow together with the word behind them
# Arguments that choose among a tool's own words, in small letters and without underscores.
_CHOICES = {"outputmode", "mode", "status", "type", "subagenttype", "action"}


class Identifiers:
    """Weighs identifiers, and knows the file that each was named with last."""

    def __init__(self) -> None:
        """Begin with none."""
        self._weights: dict[str, float] = {}
        self._named_at: dict[str, int] = {}
        self._files: dict[str, str] = {}
        self._printed: deque[tuple[int, str, str]] = deque(maxlen=HALF_LIFE)
        self._calls = 0

    def hear(self, reply: str) -> None:
        """Weigh what a reply names."""
        for name in _names(reply):
            self._add(name, "")

    def note(self, call: Call, path: str) -> None:
        """Weigh what a call names; ``path`` is its file, empty where it has none."""
        self._calls += 1
        for name in _names(call.arguments):
            self._add(name, path)
        self._printed.append((self._calls, call.answer, path))

    def carry(self, names: Iterator[tuple[str, str]]) -> None:
        """Take over names and files of an earlier ledger, as if each were named once just now."""
        for name, path in names:
            if name not in self._weights:
                self._add(name, path)

    def weightiest(self) -> Iterator[tuple[str, str]]:
        """Yield each with its file."""
        now = {name: self._decayed(name) for name in self._weights}
        files: dict[str, str] = {}
        for call, answer, path in self._printed:
            for name in _printed(answer):
                now[name] = now.get(name, 0.0) + PRINTED * DECAY ** (self._calls - call)
                files[name] = path or files.get(name, "")
        files |= self._files
        for name in sorted(now, key=lambda name: -now[name]):
            yield name, files.get(name, "")

    def _add(self, name: str, path: str) -> None:
        self._weights[name] = self._decayed(name) + 1
        self._named_at[name] = self._calls
        if path:
            self._files[name] = path

    def _decayed(self, name: str) -> float:
        age = self._calls - self._named_at.get(name, self._calls)
        return self._weights.get(name, 0.0) * DECAY**age


def _names(arguments: Any) -> Iterator[str]:
    words: dict[str, None] = {}
    for text in _told(arguments):
        part = text[:_SEARCHED]
        if "\\" in part:
            part = _ESCAPES.sub(" ", part)
        words.update(dict.fromkeys(_WORD.findall(part)))
    return filter(_is_identifier, words)


def _printed(answer: str) -> Iterator[str]:
    """Yield the identifiers that a result prints again and again."""
    words = Counter(_WORD.findall(answer[:_SEARCHED]))
    return (word for word, times in words.items() if times >= TIMES and _is_identifier(word))


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
    inner = word[1:]
    if inner.islower():
        return "_" in inner and "_" in word.strip("_")
    return "_" in word.strip("_") or not (word.isupper() or inner == inner.lower())
