"""How a turn or a manual condensation ended, in words for the person who waits for it."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass

from django.db import DatabaseError
from django.utils.translation import gettext as _

import condense
from chatapp.agent.errors import AgentError, StepLimitReached
from chatapp.live.panel import Notice
from chatapp.models import Turn
from chatapp.models.crypto import DecryptionFailed
from chatapp.services import Refused

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ending:
    """The turn's last status, what is announced, and what stays at the composer."""

    turn: Turn.Status
    status: str
    notice: Notice | None = None


async def ending_of(work: Awaitable[str | None]) -> Ending:
    """Wait for the work and return how it ended, with what it has to say; raises nothing."""
    try:
        said = await work
    except asyncio.CancelledError:
        return Ending(Turn.Status.STOPPED, _("Stopped."))
    except (StepLimitReached, condense.NothingToCondense) as reason:
        return Ending(Turn.Status.FINISHED, str(reason), Notice("info", str(reason)))
    except (AgentError, condense.CondenseError, DecryptionFailed, Refused) as error:
        return _failed(str(error), getattr(error, "details", ""))
    except Exception as error:
        log.exception("what ran could not be completed")
        return _unforeseen(error)
    return Ending(Turn.Status.FINISHED, _("Done."), Notice("info", said) if said else None)


def _unforeseen(error: Exception) -> Ending:
    if isinstance(error, DatabaseError | OSError):
        return storage_failed(error)
    text = _("Palimpsest itself made an error. What was written so far is kept; try again.")
    return _failed(text, f"{type(error).__name__}: {error}")


def storage_failed(error: Exception) -> Ending:
    """Return the ending for a disk that is full or a database that can't be written."""
    text = _("The server could not save what was written. Check that its disk is not full.")
    return _failed(text, f"{type(error).__name__}: {error}")


def _failed(text: str, details: str = "") -> Ending:
    return Ending(Turn.Status.FAILED, _("Failed."), Notice("error", text, details))
