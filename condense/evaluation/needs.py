"""What a model turned out to need after a cut, and how much of it a text still says."""

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from condense.facts import REQUEST, command_of, is_edit, read_calls, said, touched_paths
from condense.messages import Message

HEAD = 60  # characters of a command's first line, by which commands are compared


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    kept: int = 0
    of: int = 0

    def __add__(self, other: "Share") -> "Share":
        """Return both together."""
        return Share(self.kept + other.kept, self.of + other.of)


@dataclass(frozen=True, slots=True)
class Use:
    """The files, commands and requests of a stretch of messages."""

    files: frozenset[str]
    edited: frozenset[str]
    commands: frozenset[str]
    requests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a text still says of what was hidden."""

    needed_files: Share
    needed_commands: Share
    user_messages: Share
    edited_files: Share


def use_of(messages: Sequence[Message]) -> Use:
    """Return what the messages used; a file or command counts when it was called for."""
    files: set[str] = set()
    edited: set[str] = set()
    commands: set[str] = set()
    for _, call in read_calls(messages):
        paths = touched_paths(call)
        files.update(paths)
        if is_edit(call) and call.outcome == "ok":
            edited.update(paths)
        if not paths and (head := command_of(call).partition("\n")[0][:HEAD].strip()):
            commands.add(head)
    requests = tuple(text for text in map(said, messages) if text)
    return Use(frozenset(files), frozenset(edited), frozenset(commands), requests)


def what_is_kept(before: Use, after: Use, text: str) -> Kept:
    """Return how much of what was used on both sides of a cut the text says.

    A file is named by the last part of its path, a command by its first line's first 60
    characters, a request by its first 1,500 characters; all as plain substrings.
    """
    return Kept(
        needed_files=_names(before.files & after.files, text),
        needed_commands=_share(before.commands & after.commands, text),
        user_messages=_share((request[:REQUEST] for request in before.requests), text),
        edited_files=_names(before.edited, text),
    )


def _names(paths: Iterable[str], text: str) -> Share:
    return _share((posixpath.basename(path) for path in paths), text)


def _share(needles: Iterable[str], text: str) -> Share:
    found = [needle in text for needle in needles]
    return Share(sum(found), len(found))
