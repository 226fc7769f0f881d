"""How what ran ended, in words for the person who waits for it."""

import asyncio
import errno
import sqlite3
from collections.abc import Coroutine

import pytest
from django.db import OperationalError

import condense
from chatapp.agent.errors import CondensingCancelled, ProviderError, StepLimitReached
from chatapp.models import Turn
from chatapp.models.errors import DecryptionFailed
from chatapp.turns.runner import Ending, ending_of


def failing(error: BaseException) -> Coroutine[None, None, None]:
    """Return work that ends with an error."""

    async def work() -> None:
        raise error

    return work()


async def ended(error: BaseException) -> tuple[Ending, str, str]:
    """Return how such work ended, and the text and details of what its row does not say."""
    ending = await ending_of(failing(error))
    said = (ending.reason, ending.details)
    return ending, *(("", "") if ending.on_record else said)


async def test_work_that_is_done_needs_no_notice() -> None:
    """The reply is there to be read."""
    ending = await ending_of(asyncio.sleep(0))
    assert ending == Ending(Turn.Status.SUCCEEDED, "Done.")


async def test_what_the_user_stopped_is_no_failure() -> None:
    """They know why."""
    ending, text, _details = await ended(asyncio.CancelledError())
    assert (ending.turn, ending.status, text) == (Turn.Status.STOPPED, "Stopped.", "")


async def test_a_limit_that_was_reached_is_told_and_no_failure() -> None:
    """So that the user can decide to go on."""
    ending, text, _details = await ended(StepLimitReached(7))
    assert (ending.turn, ending.reached_limit) == (Turn.Status.SUCCEEDED, True)
    assert text == str(StepLimitReached(7))


async def test_cancelling_what_the_turn_needed_stops_it() -> None:
    """The user did it: that is no failure."""
    ending, text, _details = await ended(CondensingCancelled("The context is too large."))
    assert (ending.turn, text) == (Turn.Status.STOPPED, "The context is too large.")


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (condense.NothingToCondense("Too few messages."), Turn.Status.SUCCEEDED),
        (condense.SummaryFailed("No answer."), Turn.Status.FAILED),
    ],
)
async def test_what_an_attempts_row_says_is_not_said_at_the_composer(
    reason: Exception, status: Turn.Status
) -> None:
    """Once is enough."""
    ending, text, _details = await ended(reason)
    assert (ending.turn, text) == (status, "")


@pytest.mark.parametrize("at_fault", [True, False])
async def test_an_ending_says_whether_the_profile_is_to_be_mended(at_fault: bool) -> None:
    """Its row then leads there."""
    ending, _text, _details = await ended(ProviderError("No.", profile_at_fault=at_fault))
    assert ending.profile_at_fault is at_fault
    assert (await ended(DecryptionFailed()))[0].profile_at_fault


async def test_an_error_for_people_is_told_with_its_details() -> None:
    """The details are for a bug report."""
    error = ProviderError("The provider is overloaded.", details="HTTP status: 529")
    ending, text, details = await ended(error)
    assert (ending.turn, text, details) == (
        Turn.Status.FAILED,
        "The provider is overloaded.",
        "HTTP status: 529",
    )


def failed_write(code: int) -> OperationalError:
    """Return Django's error for a code of SQLite's."""
    cause = sqlite3.OperationalError("no")
    cause.sqlite_errorcode = code
    error = OperationalError("no")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (failed_write(sqlite3.SQLITE_BUSY), "Something else is being saved"),
        (failed_write(sqlite3.SQLITE_BUSY_SNAPSHOT), "Something else is being saved"),
        (failed_write(sqlite3.SQLITE_FULL), "Its disk is full"),
        (failed_write(sqlite3.SQLITE_IOERR_SHMSIZE), "Its disk is full"),
        (OSError(errno.ENOSPC, "No space left on device"), "Its disk is full"),
        (failed_write(sqlite3.SQLITE_IOERR_WRITE), "Its disk reports an error"),
        (OSError(errno.EIO, "Input/output error"), "Its disk reports an error"),
        (failed_write(sqlite3.SQLITE_READONLY_DBMOVED), "It may not write its database"),
        (failed_write(sqlite3.SQLITE_CORRUPT_VTAB), "Its database is damaged"),
        (OperationalError("no such table"), "The server's log says why"),
    ],
)
async def test_what_could_not_be_saved_says_why(error: Exception, advice: str) -> None:
    """Of a database as of a file: each reason asks for something else."""
    ending, text, details = await ended(error)
    assert ending.turn == Turn.Status.FAILED
    assert text.startswith(f"The server could not save what was written. {advice}")
    assert details == f"{type(error).__name__}: {error}"


async def test_a_defect_of_our_own_says_so_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """And blames nobody else."""
    _ending, text, details = await ended(KeyError("row"))
    assert text.startswith("Palimpsest itself made an error.")
    assert details == "KeyError: 'row'"
    assert "what ran could not be completed" in caplog.text
