"""Ledgers: the facts of hidden messages, the newest first."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """What the user said, and ``to`` which question or call; ``[…]`` stands for what is cut."""

    text: str
    to: str = ""


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file that was read, or also edited."""

    path: str
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """The beginning of a command, and how often it ran."""

    head: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that nothing has resolved: of what, and what it said."""

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
    """Facts copied from hidden messages.

    ``rules`` are sentences of requests that do not stand here whole; ``done`` counts the to-do
    items that are ticked off; ``names`` are identifiers, hashes and ids; ``last_reply`` is the
    newest reply that ended a turn.
    """

    rules: tuple[str, ...] = ()
    requests: tuple[Request, ...] = ()
    todos: tuple[Todo, ...] = ()
    done: int = 0
    files: tuple[FileUse, ...] = ()
    runs: tuple[Run, ...] = ()
    failures: tuple[Failure, ...] = ()
    names: tuple[str, ...] = ()
    last_reply: str = ""
