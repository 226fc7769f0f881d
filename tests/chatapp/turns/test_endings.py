"""How what ran ended, in words for the person who waits for it."""

import asyncio
import errno
import sqlite3
from collections.abc import Coroutine
from typing import Any

import pytest
from django.db import OperationalError

import condense
from chatapp.agent.errors import (
    CondensingCancelled,
    LeftEarly,
    LeftWaiting,
    ProviderError,
    SpendingLimitReached,
    StepLimitReached,
)
from chatapp.models import Turn
from chatapp.models.errors import DecryptionFailed, Refused
from chatapp.turns.runner import Ending, ending_of
from tests.panics import PanicException


def failing(error: BaseException) -> Coroutine[None, None, None]:
    """Return work that ends with an error."""

    async def work() -> None:
        raise error

    return work()


DONE, STOPPED, FAILED = Turn.Status.SUCCEEDED, Turn.Status.STOPPED, Turn.Status.FAILED


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (asyncio.CancelledError(), Ending(STOPPED, "Stopped.")),
        # Another process can go on from there.
        (LeftEarly(), Ending(STOPPED, "Stopped.", at_safe_point=True)),
        (LeftWaiting(), Ending(Turn.Status.WAITING, "Waiting for you.", at_safe_point=True)),
        (
            StepLimitReached(7),
            Ending(DONE, "Stopped.", str(StepLimitReached(7)), reached_limit=True),
        ),
        # The user did it: that is no failure.
        (CondensingCancelled("Too large."), Ending(STOPPED, "Stopped.", "Too large.")),
        (SpendingLimitReached("It is spent."), Ending(STOPPED, "Stopped.", "It is spent.")),
        # What an attempt's row says is not said again.
        (
            condense.NothingToCondense("Too few."),
            Ending(DONE, "Nothing to condense.", "Too few.", on_record=True),
        ),
        (
            condense.SummaryFailed("No answer."),
            Ending(FAILED, "Failed.", "No answer.", on_record=True),
        ),
        # What is to be mended in the profile says so, and details are for a bug report.
        (
            ProviderError("Busy.", details="HTTP 529"),
            Ending(FAILED, "Failed.", "Busy.", "HTTP 529"),
        ),
        (
            ProviderError("No.", profile_at_fault=True),
            Ending(FAILED, "Failed.", "No.", profile_at_fault=True),
        ),
        (
            DecryptionFailed(),
            Ending(FAILED, "Failed.", str(DecryptionFailed()), profile_at_fault=True),
        ),
        (Refused("Not now."), Ending(FAILED, "Failed.", "Not now.")),
    ],
)
async def test_an_ending_says_how_it_ended_and_why(error: BaseException, ending: Ending) -> None:
    """In words for the person who waits."""
    assert await ending_of(failing(error)) == ending


class NoPostgres(Exception):
    """An error of PostgreSQL's client; without a state, its server is gone."""

    sqlstate: str | None = None


def failed_write(code: int | str | None) -> OperationalError:
    """Return Django's error for a code of SQLite's, or a state of PostgreSQL's."""
    cause: Any = sqlite3.OperationalError("no") if isinstance(code, int) else NoPostgres()
    setattr(cause, "sqlite_errorcode" if isinstance(code, int) else "sqlstate", code)
    error = OperationalError("no")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (failed_write(sqlite3.SQLITE_BUSY), "Something else is being saved"),
        (failed_write(sqlite3.SQLITE_FULL), "Its disk is full"),
        (OSError(errno.ENOSPC, "No space left on device"), "Its disk is full"),
        (failed_write(sqlite3.SQLITE_IOERR_WRITE), "Its disk reports an error"),
        (OSError(errno.EIO, "Input/output error"), "Its disk reports an error"),
        (failed_write(sqlite3.SQLITE_READONLY_DBMOVED), "It may not write its database"),
        (failed_write(sqlite3.SQLITE_CORRUPT_VTAB), "Its database is damaged"),
        (failed_write("40P01"), "Something else is being saved"),
        (failed_write("53100"), "Its disk is full"),
        (failed_write("57P01"), "Its database can't be reached"),
        (failed_write(None), "Its database can't be reached"),
        (OperationalError("no such table"), "The server's log says why"),
    ],
)
async def test_what_could_not_be_saved_says_why(error: Exception, advice: str) -> None:
    """Of a database as of a file: each reason asks for something else."""
    ending = await ending_of(failing(error))
    assert ending.turn == Turn.Status.FAILED
    assert ending.reason.startswith(f"The server could not save what was written. {advice}")
    assert ending.details == f"{type(error).__name__}: {error}"


async def test_a_defect_of_our_own_says_so_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """And blames nobody else; work that is done needs no notice."""
    ending = await ending_of(failing(KeyError("row")))
    assert ending.reason.startswith("Palimpsest itself made an error.")
    assert ending.details == "KeyError: 'row'"
    assert "what ran could not be completed" in caplog.text
    assert await ending_of(asyncio.sleep(0)) == Ending(DONE, "Done.")
    assert (await ending_of(failing(PanicException()))).reason == ending.reason
