"""Errors of stored data, and sentences about failed writes."""

import errno
import sqlite3

from chatapp.agent.errors import AgentError
from chatapp.project.installation import PROGRAM
from condense import noop


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
# PostgreSQL's codes as SQLite's.
_STATES = {
    "40001": sqlite3.SQLITE_BUSY,
    "40P01": sqlite3.SQLITE_BUSY,
    "55P03": sqlite3.SQLITE_BUSY,
    "25P03": sqlite3.SQLITE_BUSY,
    "25P04": sqlite3.SQLITE_BUSY,
    "57014": sqlite3.SQLITE_BUSY,
    "25006": sqlite3.SQLITE_READONLY,
    "42501": sqlite3.SQLITE_READONLY,
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
        # A server of PostgreSQL's that is gone has no code; one that goes has these.
        case 0 if state is None or state.startswith(("08", "57P")):
            told = noop("Its database can't be reached. Try again in a moment.")
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
