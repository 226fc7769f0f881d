"""The messages that wait for what runs, as pages show them."""

import asyncio
import uuid

from django.template.loader import render_to_string

from chatapp import services
from chatapp.live import frames
from chatapp.live.watchers import Watchers
from chatapp.models.reading import reading


class Waiting:
    """Shows the queue of one conversation; what is shown last is what was read last."""

    def __init__(self, conversation_id: uuid.UUID, watchers: Watchers) -> None:
        """Take what the queue is of, and who is shown it."""
        self._conversation_id = conversation_id
        self._watchers = watchers
        # Whether any message may wait: what another process left is not known yet.
        self.may_wait = True
        self._changes = 0
        self._in_hand = asyncio.Lock()

    def note_change(self) -> None:
        """Take note that the queue has changed; what is being read of it may be older."""
        self._changes += 1
        self.may_wait = True

    async def render(self) -> str:
        """Return the messages that wait, as HTML."""
        changes = self._changes
        queued = await reading(services.list_queued)(self._conversation_id)
        if changes == self._changes:
            self.may_wait = bool(queued)
        context = {"queued": queued, "conversation": self._conversation_id}
        return render_to_string("chat/_queue.html", context)

    async def show(self) -> None:
        """Show the messages that wait on every page."""
        async with self._in_hand:
            if self._watchers:
                self._watchers.send(frames.queue_changed(await self.render()))
