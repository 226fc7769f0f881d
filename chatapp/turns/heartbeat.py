"""Signs of life: this process says what it works on, and ends what others left behind."""

import asyncio
import itertools
import logging
import uuid
from collections.abc import Awaitable, Callable, Collection

from asgiref.sync import sync_to_async

from chatapp.turns import lifecycle

log = logging.getLogger(__name__)

# Seconds between two signs of life; after four of them that are missing a process is taken for
# gone (``models/owners.py``), which is looked for at every second one.
INTERVAL = 2.0


class Pulse:
    """A task that beats for all turns of this process at once, and looks for dead ones."""

    def __init__(
        self,
        turns: Callable[[], Collection[uuid.UUID]],
        *,
        lost: Callable[[uuid.UUID], None],
        closed: Callable[[uuid.UUID], None],
        take_over: Callable[[], Awaitable[None]],
        interval: float = INTERVAL,
    ) -> None:
        """Take what runs, whom to tell of a turn that was ended elsewhere, and of conversations.

        What only waits for a person outlives its process: that is what ``take_over`` is for.
        """
        self.interval = interval
        self._turns = turns
        self._lost = lost
        self._closed = closed
        self._take_over = take_over
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Beat from now on; once is enough."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._beat())

    def stop(self) -> None:
        """Beat no more."""
        if self._task:
            self._task.cancel()

    async def _beat(self) -> None:
        for number in itertools.count():
            await asyncio.sleep(self.interval)
            try:
                if turns := self._turns():
                    for turn in await sync_to_async(lifecycle.keep_alive)(turns):
                        self._lost(turn)
                if number % 2:
                    await self._take_over()
                    for conversation in await sync_to_async(lifecycle.close_interrupted)():
                        self._closed(conversation)
            except Exception:
                # Others would take this process for gone if it ended here.
                log.exception("a sign of life could not be given; the next one is tried")
