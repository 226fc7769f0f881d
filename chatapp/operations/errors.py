"""Errors: refusals in sentences for people, and failures for the log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, OperationalError

from chatapp.models.errors import explain_write_error
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


def is_unwritable(error: DatabaseError) -> bool:
    """Return True if the database could not be written; its subclasses are mistakes of our own."""
    return type(error) in {DatabaseError, OperationalError}


def is_unknown(error: DatabaseError | OSError) -> bool:
    """Return True if the connection broke: the commit may have succeeded or not."""
    state: str | None = getattr(error.__cause__, "sqlstate", "")
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


class BadArchive(Exception):
    """A file is no backup, or is damaged; the text is one sentence for a person."""


class NotCopied(Exception):
    """One database can't be put into another; the text is one sentence for a person."""


class BadSeal(Exception):
    """A file is no seal, or not one of this key; the text is one sentence for a person."""
