"""Errors: refusals in sentences for people, and failures for the log."""

import errno
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, OperationalError

from chatapp.agent.errors import AgentError
from chatapp.project.installation import PROGRAM
from chatapp.project.sentences import translate as _
from condense import noop, say

log = logging.getLogger(__name__)


class Refused(Exception):
    """The operation is not possible now; the text gives the reason and the way out.

    A text that may go on record is English; the code that answers it translates it.
    """


class Busy(Refused):
    """Refused while a turn of the conversation is not over."""


class LimitReached(Refused):
    """Refused by a limit that the operators set; ``status`` is its HTTP status.

    The request may be repeated after ``retry_after`` seconds.
    """

    def __init__(self, text: str, *, status: int = 429, retry_after: int = 60) -> None:
        super().__init__(text)
        self.status, self.retry_after = status, retry_after


class TooManyTurns(LimitReached, Busy):
    """Refused while as many turns of its user are not over as may be at once."""


class Unclear(Refused):
    """Refused unless the person confirms that a seeming command or path is text."""


class Stopping(LimitReached):
    """Refused while this server stops: another one, or the next, takes it."""

    def __init__(self) -> None:
        said = _("The server is being stopped. Send it again in a moment.")
        super().__init__(said, status=503, retry_after=5)


class CheckpointFailed(Exception):
    """Files could not be kept or restored; the text is for the log."""


class BadArchive(Exception):
    """A file is no backup, or is damaged; the text is one sentence for a person."""


class NotCopied(Exception):
    """One database can't be put into another; the text is one sentence for a person."""


class BadSeal(Exception):
    """A file is no seal, or not one of this key; the text is one sentence for a person."""


class AppendOnly(TypeError):
    """Refuses a change of the record that would leave no trace."""


class DecryptionFailed(AgentError):
    """The stored value was encrypted with another secret key, or is damaged."""

    profile_at_fault = True

    def __init__(self) -> None:
        super().__init__(noop("The stored key can't be read with this secret key. Enter it again."))


class IndexDamaged(Exception):
    """The index can't be read; the text says so to the person who searches, with the way out."""

    def __init__(self) -> None:
        text = noop("Search in messages is out of order. “{program} rebuild_search” repairs it.")
        super().__init__(text.format(program=PROGRAM))


# The first eight bits of SQLite's codes are their kind, the others say more.
_KIND = 0xFF
# Growing the memory that SQLite shares with other processes fails with a code of its own.
_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}
# PostgreSQL's code for a server that only reads, as a standby does before it is promoted.
READ_ONLY = "25006"
# PostgreSQL's codes as SQLite's.
_STATES = {
    "40001": sqlite3.SQLITE_BUSY,
    "40P01": sqlite3.SQLITE_BUSY,
    "55P03": sqlite3.SQLITE_BUSY,
    "25P03": sqlite3.SQLITE_BUSY,
    "25P04": sqlite3.SQLITE_BUSY,
    "57014": sqlite3.SQLITE_BUSY,
    "53100": sqlite3.SQLITE_FULL,
    "58030": sqlite3.SQLITE_IOERR,
    "XX001": sqlite3.SQLITE_CORRUPT,
    "XX002": sqlite3.SQLITE_CORRUPT,
}


def explain_write_error(error: Exception) -> str:
    """Return the reason for a failed write to the database or a file, with the way out."""
    state: str | None = getattr(error.__cause__, "sqlstate", "")
    code: int = getattr(error.__cause__, "sqlite_errorcode", 0) or _STATES.get(state or "", 0)
    told = noop("The server's log says why.")
    match code & _KIND:
        case 0 if is_unknown(error):
            told = noop("Its database can't be reached. Try again in a moment.")
        case 0 if state == READ_ONLY:
            told = noop("Its database takes no changes now. Try again in a moment.")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            told = noop("Something else is being saved, which takes long. Try again in a moment.")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            told = noop("Its database is damaged: “{program} check_integrity” says where.")
            told = told.format(program=PROGRAM)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            told = noop("It may not write its database. Check the permissions of its folder.")
        case _ if code in _FULL or getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT}:
            told = noop("Its disk is full. Make room there, then try again.")
        case kind if kind == sqlite3.SQLITE_IOERR or isinstance(error, OSError):
            told = noop("Its disk reports an error. Check the disk; the server's log says more.")
    return told


def is_unwritable(error: DatabaseError) -> bool:
    """Return True if the database could not be written; its subclasses are mistakes of our own."""
    return type(error) in {DatabaseError, OperationalError}


def is_unknown(error: Exception) -> bool:
    """Return True if the connection broke: the commit may have succeeded or not."""
    state: str | None = getattr(error.__cause__, "sqlstate", "")
    # A server of PostgreSQL's that is gone has no code; one that goes has these.
    return state is None or state.startswith(("08", "57P"))


def not_saved(error: DatabaseError | OSError) -> Refused:
    """Return the refusal for a database or a file that can't be written, and log the cause."""
    log.error("what a user did could not be saved", exc_info=error)
    if is_unknown(error):
        return Refused(
            noop(
                "The server lost the connection to its database while it saved this. Check whether "
                "it was saved before you do it again. A message is stored once, however often you "
                "send it."
            )
        )
    why = explain_write_error(error)
    return Refused(say("The server could not save this; nothing changed. {why}", why=why))


def why_unread(error: BaseException | None) -> str:
    """Return a sentence if it was the database that could not be read, else ""."""
    if not (isinstance(error, DatabaseError) and is_unwritable(error)):
        return ""
    why = explain_write_error(error)
    return say("The server can't read what is stored. {why}", why=why)


@contextmanager
def saving() -> Iterator[None]:
    """Turn a database that can't be written into a refusal with the reason."""
    try:
        yield
    except DatabaseError as error:
        if not is_unwritable(error):
            raise
        raise not_saved(error) from error
