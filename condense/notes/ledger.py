"""Ledgers: all that is known of hidden messages without a model, the newest first."""

from dataclasses import dataclass
from typing import Literal

Mark = Literal["", "!", "?"]


@dataclass(frozen=True, slots=True)
class Request:
    """What the user said, word for word; where words are left out stands ``[…]``.

    ``to`` is what a short answer answers, or the call that words in its result are about.
    ``replaced`` quotes later words that say they take the place of some of these.
    """

    text: str
    to: str = ""
    replaced: str = ""


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file, how often it was edited and read, and the identifiers that calls named with it.

    Neither was done where every try failed.
    """

    path: str
    edits: int = 0
    reads: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """The beginning of a command's first line, how often it ran, and how it went last.

    ``mark`` is empty where it went well, "!" where it failed, "?" where nobody knows: it was
    refused, or nothing came back.
    """

    head: str
    times: int = 1
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that nothing has resolved: of which command, file or tool, and what it said."""

    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class Todo:
    """An open item of the to-do list; ``id`` is the list's own or its number there."""

    id: str
    text: str
    active: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """Facts copied from hidden messages; ``done`` counts the to-do items that are ticked off.

    ``statements`` are sentences of replies that state a result, a decision or a promise.
    ``identifiers`` stand in tool calls that name no file; ``names`` are URLs and identifiers of
    the user's that stand nowhere else in the ledger.
    """

    requests: tuple[Request, ...] = ()
    files: tuple[FileUse, ...] = ()
    runs: tuple[Run, ...] = ()
    failures: tuple[Failure, ...] = ()
    todos: tuple[Todo, ...] = ()
    done: int = 0
    statements: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
