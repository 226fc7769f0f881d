"""What a model turned out to need after a cut, what users had said, and what was planted."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from condense.evaluation.reading import (
    Action,
    actions_in,
    choices_in,
    said_in,
    said_in_results,
    text_of,
    words_in,
)
from condense.evaluation.recordings import Cut, Recording

NEXT = 20  # tool calls after a cut whose needs are looked at one by one

Kind = Literal["path", "command", "identifier"]


@dataclass(frozen=True, slots=True)
class Item:
    """Something that a call names."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Want:
    """What one call names of the history before the cut, and what of it was seen again since."""

    items: frozenset[Item]
    seen_since: frozenset[Item]


@dataclass(frozen=True, slots=True)
class Planted:
    """A fact of the recording's own, and who said it."""

    text: str
    by_user: bool


@dataclass(frozen=True, slots=True)
class Needs:
    """All that a cut's figures are about; ``wants`` are of the next twenty calls."""

    files: frozenset[str]
    commands: frozenset[str]
    edited: frozenset[str]
    requests: tuple[str, ...]
    answers: tuple[str, ...]
    wants: tuple[Want, ...]
    planted: tuple[Planted, ...]


class Shown:
    """A text in which items are looked for; neither line breaks nor runs of spaces count."""

    def __init__(self, text: str) -> None:
        """Take the text."""
        self.text = flat(text)
        self.words = words_in(text)

    def shows(self, item: Item) -> bool:
        """Whether the text names the item.

        A file is named by the last part of its path beside, anywhere, its folder; a command by its
        first line's first 60 characters.
        """
        match item.kind:
            case "identifier":
                return item.text in self.words
            case "command":
                return flat(item.text) in self.text
            case "path":
                folder = posixpath.basename(posixpath.dirname(item.text))
                return self.names_file(item.text) and flat(folder) in self.text

    def names_file(self, path: str) -> bool:
        """Whether the last part of the path stands there for itself."""
        return self.says(posixpath.basename(path))

    def says(self, words: str) -> bool:
        """Whether these words stand there, and are no part of longer ones."""
        words = flat(words)
        start = self.text.find(words)
        while start >= 0 and not self._stands_alone(start, start + len(words)):
            start = self.text.find(words, start + 1)
        return start >= 0

    def _stands_alone(self, start: int, end: int) -> bool:
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        left = _is_word(before) and _is_word(self.text[start : start + 1])
        return not left and not (_is_word(after) and _is_word(self.text[end - 1 : end]))


def _is_word(character: str) -> bool:
    # A script without spaces parts no words.
    return character == "_" or (character.isalnum() and not "\u2e80" <= character <= "\ud7ff")


def flat(text: str) -> str:
    """Return the text with single spaces for all white space."""
    return " ".join(text.split())


def needs_at(recording: Recording, cut: Cut) -> Needs:
    """Return what is needed after the cut of what came before it."""
    before, after = recording.messages[: cut.at], recording.messages[cut.at :]
    earlier, later = list(actions_in(before)), list(actions_in(after))
    return Needs(
        files=_files(earlier) & _files(later),
        commands=_commands(earlier) & _commands(later),
        edited=frozenset(path for one in earlier if one.edits for path in one.files),
        requests=tuple(text for message in before if (text := said_in(message))),
        answers=tuple(said_in_results(before)),
        wants=tuple(_wants(Shown(text_of(before)), later[:NEXT], recording, cut)),
        planted=tuple(
            Planted(fact.text, recording.messages[fact.at].role == "user")
            for fact in recording.facts
            if fact.at < cut.at
        ),
    )


def _files(actions: Sequence[Action]) -> frozenset[str]:
    return frozenset(path for one in actions for path in one.files)


def _commands(actions: Sequence[Action]) -> frozenset[str]:
    return frozenset(one.command for one in actions if one.command)


def _wants(
    held: Shown, actions: Sequence[Action], recording: Recording, cut: Cut
) -> Iterator[Want]:
    listed = {Item("identifier", word) for word in choices_in(recording.messages)}
    for action in actions:
        items = frozenset(item for item in _items(action) if held.shows(item)) - listed
        since = Shown(text_of(recording.messages[cut.at : cut.at + action.at]))
        yield Want(items, frozenset(item for item in items if since.shows(item)))


def _items(action: Action) -> Iterator[Item]:
    yield from (Item("path", path) for path in action.paths)
    yield from (Item("identifier", name) for name in action.identifiers)
    if action.command:
        yield Item("command", action.command)
