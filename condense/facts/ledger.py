"""What is known about hidden messages without asking a model; everything newest first."""

from dataclasses import dataclass
from typing import Literal

Mark = Literal["", "!", "?"]


@dataclass(frozen=True, slots=True)
class Request:
    """The first characters of what the user said, and how many ``more`` there were."""

    text: str
    more: int = 0


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file, and how often it was edited and read; neither where every try failed."""

    path: str
    edits: int = 0
    reads: int = 0


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

    ``names`` are URLs and identifiers of the user's that stand nowhere else in the ledger.
    """

    requests: tuple[Request, ...] = ()
    files: tuple[FileUse, ...] = ()
    runs: tuple[Run, ...] = ()
    failures: tuple[Failure, ...] = ()
    todos: tuple[Todo, ...] = ()
    done: int = 0
    names: tuple[str, ...] = ()
