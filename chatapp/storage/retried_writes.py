"""Writes that must not be lost: what the model wrote was paid for, and people saw it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.db import OperationalError
from django.utils.translation import gettext as _

from chatapp.agent import events
from chatapp.agent.ports import Audience
from chatapp.models.errors import explain_write_error

log = logging.getLogger(__name__)

# Seconds before each new try: a lock is soon given back, and a disk may get room again.
WAITS = (0.5, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class RetriedWrites:
    """Makes a write again while the database can't take it, and says so to the ``audience``."""

    audience: Audience

    async def save[**P, T](self, write: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what ``write`` returns; it is one transaction, so that it can be made again.

        Raises OperationalError when the last try fails too.
        """
        for attempt, seconds in enumerate(WAITS, 2):
            try:
                return await sync_to_async(write)(*args, **kwargs)
            except OperationalError as error:
                log.warning("a write failed and is made again: %s", error)
                text = _("The server could not save what was written. %s")
                reason = text % explain_write_error(error)
                self.audience.publish(
                    events.RetryScheduled(reason, seconds, attempt, len(WAITS) + 1)
                )
                await asyncio.sleep(seconds)
        return await sync_to_async(write)(*args, **kwargs)
