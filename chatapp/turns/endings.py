"""How a turn or a manual condensation ended, in words for the person who waits for it."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass

from django.db import DatabaseError
from django.utils.translation import gettext as _

import condense
from chatapp.agent.errors import AgentError, BudgetSpent, LeftEarly, LeftWaiting, StepLimitReached
from chatapp.condensation.controller import CondensingCancelled
from chatapp.errors import Refused
from chatapp.live.status_panel import Notice
from chatapp.models import Turn
from chatapp.models.errors import DecryptionFailed, explain_write_error

log = logging.getLogger(__name__)


# A condensation that came to nothing in one of these ways has a row that says why.
_ON_RECORD = (condense.NothingToCondense, condense.SummaryFailed, condense.DidNotShrink)


@dataclass(frozen=True, slots=True)
class Ending:
    """How work ended: the turn's last status, what is announced, and why, if there is a reason.

    A turn that was left waiting has not ended: it goes on elsewhere.

    A turn's reason is on its row, and that of an attempt, where it is ``on_record``. Any other has
    to be said at the composer. A turn that ``reached_limit`` has more to do.
    """

    turn: Turn.Status
    status: str
    reason: str = ""
    details: str = ""
    profile_at_fault: bool = False
    on_record: bool = False
    reached_limit: bool = False

    @property
    def is_success(self) -> bool:
        """Whether it did all it was to, so that what waits for it may follow."""
        return self.turn == Turn.Status.SUCCEEDED and not self.reached_limit

    @property
    def notice(self) -> Notice | None:
        """What stays at the composer, where no row says it."""
        if not self.reason or self.on_record:
            return None
        kind = "error" if self.turn == Turn.Status.FAILED else "info"
        return Notice(kind, self.reason, self.details)


async def ending_of(work: Awaitable[str | None]) -> Ending:
    """Wait for the work and return how it ended, with what it has to say; raises nothing."""
    try:
        said = await work
    except LeftWaiting:
        return Ending(Turn.Status.WAITING, _("Waiting for you."))
    except (asyncio.CancelledError, LeftEarly):
        return Ending(Turn.Status.STOPPED, _("Stopped."))
    except (AgentError, condense.CondenseError, DecryptionFailed, Refused) as error:
        return _foreseen(error)
    except Exception as error:
        log.exception("what ran could not be completed")
        return _unforeseen(error)
    return Ending(Turn.Status.SUCCEEDED, _("Done."), said or "")


def _foreseen(error: Exception) -> Ending:
    match error:
        case condense.NothingToCondense():
            said = _("Nothing to condense.")
            return Ending(Turn.Status.SUCCEEDED, said, str(error), on_record=True)
        case StepLimitReached():
            said = _("Stopped.")
            return Ending(Turn.Status.SUCCEEDED, said, str(error), reached_limit=True)
        case CondensingCancelled() | BudgetSpent():
            return Ending(Turn.Status.STOPPED, _("Stopped."), str(error))
    in_profile = getattr(error, "profile_at_fault", isinstance(error, DecryptionFailed))
    return Ending(
        Turn.Status.FAILED,
        _("Failed."),
        str(error),
        getattr(error, "details", ""),
        profile_at_fault=in_profile,
        on_record=isinstance(error, _ON_RECORD),
    )


def _unforeseen(error: Exception) -> Ending:
    if isinstance(error, DatabaseError | OSError):
        return storage_failed(error)
    text = _("Palimpsest itself made an error. What was written so far is kept; try again.")
    return Ending(Turn.Status.FAILED, _("Failed."), text, _describe(error))


def storage_failed(error: Exception) -> Ending:
    """Return the ending for a file or a database that can't be written."""
    text = _("The server could not save what was written. %s") % explain_write_error(error)
    return Ending(Turn.Status.FAILED, _("Failed."), text, _describe(error))


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
