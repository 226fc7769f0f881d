"""Figures: the share of needed, said and planted things that the model still reads after a cut."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from condense.messages import Message
from tests.evaluation.contents import (
    Action,
    actions_in,
    choices_in,
    said_in,
    said_in_results,
    text_of,
    words_in,
)
from tests.evaluation.recordings import Cut, Recording

NEXT = 20  # tool calls after a cut whose needs are looked at one by one
REQUEST = 1_500  # characters of a message that have to stand there for it to count as kept
PIECE = 60  # characters; what users wrote is looked up in pieces of lines, cut at spaces


class Share(NamedTuple):
    """So many of so many."""

    kept: int = 0
    of: int = 0


class Item(NamedTuple):
    """Something that a call names."""

    kind: Literal["path", "command", "identifier"]
    text: str


class Want(NamedTuple):
    """The items of the history before the cut that one call names, and those seen again since."""

    items: frozenset[Item]
    seen_since: frozenset[Item]

    @property
    def unseen(self) -> frozenset[Item]:
        """The items that only the history before the cut can have told."""
        return self.items - self.seen_since


@dataclass(frozen=True, slots=True)
class Needs:
    """Everything that the figures of a cut are about; ``wants`` are of the next twenty calls."""

    files: frozenset[str]
    commands: frozenset[str]
    edited: frozenset[str]
    requests: tuple[str, ...]
    answers: tuple[str, ...]
    wants: tuple[Want, ...]
    facts_of_users: tuple[str, ...]
    facts_of_replies: tuple[str, ...]


class Shown:
    """A text in which items are looked for; neither line breaks nor runs of spaces count."""

    def __init__(self, text: str) -> None:
        self.text = flat(text)
        self.words = words_in(text)

    def shows(self, item: Item) -> bool:
        """Whether the text names the item; a file by its name and, anywhere, its folder's."""
        match item.kind:
            case "identifier":
                return item.text in self.words
            case "command":
                return self.has(item.text)
            case "path":
                folder = posixpath.basename(posixpath.dirname(item.text))
                return self.names_file(item.text) and self.has(folder)

    def has(self, text: str) -> bool:
        """Whether these characters stand there."""
        return flat(text) in self.text

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
    facts = [fact for fact in recording.facts if fact.at < cut.at]
    by_user = [recording.messages[fact.at].role == "user" for fact in facts]
    return Needs(
        files=_files(earlier) & _files(later),
        commands=_commands(earlier) & _commands(later),
        edited=frozenset(path for one in earlier if one.edits for path in one.files),
        requests=tuple(text for message in before if (text := said_in(message))),
        answers=tuple(said_in_results(before)),
        wants=tuple(wants_of(Shown(text_of(before)), later[:NEXT], recording, cut)),
        facts_of_users=tuple(one.text for one, by in zip(facts, by_user, strict=True) if by),
        facts_of_replies=tuple(one.text for one, by in zip(facts, by_user, strict=True) if not by),
    )


def _files(actions: Sequence[Action]) -> frozenset[str]:
    return frozenset(path for one in actions for path in one.files)


def _commands(actions: Sequence[Action]) -> frozenset[str]:
    return frozenset(one.command for one in actions if one.command)


def wants_of(
    held: Shown, actions: Sequence[Action], recording: Recording, cut: Cut
) -> Iterator[Want]:
    """Yield what each of some calls after a cut names of a text, and what was seen since."""
    listed = {Item("identifier", word) for word in choices_in(recording.messages)}
    for action in actions:
        items = frozenset(item for item in _items(action) if held.shows(item)) - listed
        since = Shown(text_of(recording.messages[cut.at : cut.at + action.at]))
        yield Want(items, frozenset(filter(since.shows, items)))


def _items(action: Action) -> Iterator[Item]:
    yield from (Item("path", path) for path in action.paths)
    yield from (Item("identifier", name) for name in action.identifiers)
    if action.command:
        yield Item("command", action.command)


def figures(needs: Needs, context: Sequence[Message]) -> Mapping[str, Share]:
    """Return how much the context still says, be it in a summary, a ledger or a message."""
    shown = Shown(text_of(context))
    verbatim = Shown(text_of(one for one in context if not (one.is_summary or one.is_marker)))
    pieces = [piece for text in needs.requests for piece in pieces_of(text)]
    items = {item for want in needs.wants for item in want.items}
    by_kind = {kind: _share(map(shown.shows, (one for one in items if one.kind == kind)))
               for kind in ("path", "command", "identifier")}  # fmt: skip
    return {
        "needed files": _share(map(shown.names_file, needs.files)),
        "needed commands": _share(map(shown.has, needs.commands)),
        "edited files": _share(map(shown.names_file, needs.edited)),
        "user messages": _share(shown.has(text[:REQUEST]) for text in needs.requests),
        "user characters": Share(
            sum(len(one) for one in pieces if one in shown.text), sum(map(len, pieces))
        ),
        "user words in results": _share(shown.has(text[:REQUEST]) for text in needs.answers),
        "next calls: paths": by_kind["path"],
        "next calls: commands": by_kind["command"],
        "next calls: identifiers": by_kind["identifier"],
        "next calls: all three": _share(map(shown.shows, items)),
        "next calls: whole": _share(
            all(map(shown.shows, one.unseen)) for one in needs.wants if one.items
        ),
        "unseen items supplied": _share(map(shown.shows, _unseen(needs.wants, verbatim))),
        "facts that users gave": _share(map(shown.says, needs.facts_of_users)),
        "facts that replies gave": _share(map(shown.says, needs.facts_of_replies)),
    }


def _share(found: Iterable[bool]) -> Share:
    states = list(found)
    return Share(sum(states), len(states))


def pieces_of(text: str) -> Iterator[str]:
    """Yield the lines in pieces; one without a space in it is a piece however long it is."""
    for line in text.splitlines():
        piece = ""
        for word in line.split():
            if piece and len(piece) + len(word) >= PIECE:
                yield piece
                piece = ""
            piece = f"{piece} {word}" if piece else word
        if piece:
            yield piece


def _unseen(wants: Sequence[Want], verbatim: Shown) -> Iterator[Item]:
    """Yield what is named before any message in front of the model holds it."""
    known: set[Item] = set()
    for want in wants:
        yield from (item for item in want.unseen - known if not verbatim.shows(item))
        known |= want.items
