"""Takes the events of a run and shows them in order, whatever goes wrong in showing.

Taking an event returns at once. A task of its own handles them, coalesces streamed text, and does
all that reads the database or renders a template.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Awaitable, Callable

from chatapp.agent import events
from chatapp.context.turn_context import TurnContext
from chatapp.live import outgoing_frames
from chatapp.live.status_panel import Notice, QueueView
from chatapp.live.turn_view import TurnView
from chatapp.live.watchers import Watchers
from chatapp.models.database import reading
from chatapp.transcript import row_pages

log = logging.getLogger(__name__)

Hearing = asyncio.Queue[events.TurnEvent | None]


class LiveView:
    """The audience of one conversation: whatever it is told, its watchers see."""

    def __init__(
        self,
        conversation_id: uuid.UUID,
        watchers: Watchers,
        *,
        on_wait: Callable[[], None] = lambda: None,
    ) -> None:
        """Show that nothing runs; ``on_wait`` is called when a turn waits for a person, or not."""
        self.conversation_id = conversation_id
        self.turn_view = TurnView(conversation_id, watchers, on_wait=on_wait)
        self.waiting = QueueView(conversation_id, watchers)
        self._queue: asyncio.Queue[events.TurnEvent | None] = asyncio.Queue()
        self._presenter: asyncio.Task[None] | None = None
        self._hearers: set[Hearing] = set()

    def publish(self, event: events.TurnEvent) -> None:
        """Take an event of what runs."""
        self._queue.put_nowait(event)
        self._tell(event)

    def hear(self) -> Hearing:
        """Return a queue of all events from now on; None in it says that what ran has ended."""
        hearing: Hearing = asyncio.Queue()
        self._hearers.add(hearing)
        return hearing

    def forget(self, hearing: Hearing) -> None:
        """Put no more events into a queue."""
        self._hearers.discard(hearing)

    def _tell(self, event: events.TurnEvent | None) -> None:
        for hearing in self._hearers:
            hearing.put_nowait(event)

    def begin(self, run: TurnContext) -> None:
        """Show that something runs, and take events from now on."""
        self.turn_view.begin(run)
        self._presenter = asyncio.create_task(self._present())

    async def end(self, status: str, notice: Notice | None, *, changed: bool = False) -> None:
        """Show all events that came, then that nothing runs any more, and why.

        With ``changed`` there is a row that says how it ended.
        """
        self._queue.put_nowait(None)
        try:
            # What was stopped before it began has no presenter, but perhaps a message to show.
            await (self._presenter or self._present())
            self._presenter = None
            await _safely(self.turn_view.settle())
            await self.turn_view.end(status, notice, changed=changed)
        finally:
            # Who hears that may begin something else at once.
            self._tell(None)

    async def snapshot(self, place: outgoing_frames.Place) -> list[outgoing_frames.Frame]:
        """Return the frames that bring a page up to date as of ``place``, whatever it shows."""
        turn_view = self.turn_view
        revision = await reading(row_pages.revision)(self.conversation_id)
        articles, panel = await turn_view.articles(), await turn_view.panel()
        streaming = turn_view.streaming
        return [
            outgoing_frames.snapshot(
                place,
                revision=revision,
                turn=turn_view.turn,
                status=turn_view.status,
                waits=turn_view.waits,
                articles=articles,
                streamed=await streaming.read(streaming.snapshot) if streaming else None,
                panel=panel,
                queue=await self.waiting.render(),
            )
        ]

    async def show_change(self) -> None:
        """Have every page fetch the transcript and the panel again."""
        await _safely(self.turn_view.show_change())

    async def show_notice(self, notice: Notice | None) -> None:
        """Show every page this line at the composer, or none."""
        self.turn_view.notice = notice
        await self.show_panel()

    async def show_panel(self) -> None:
        """Show every page how the context stands."""
        await _safely(self.turn_view.show_panel())

    async def show_queue(self) -> None:
        """Show every page the messages that wait."""
        await _safely(self.waiting.show())

    async def _present(self) -> None:
        while (event := await self._next()) is not None:
            if not isinstance(event, events.TextStreamed):
                await _safely(self.turn_view.flush())
            await _safely(self.turn_view.show(event))

    async def _next(self) -> events.TurnEvent | None:
        """Return the next event, None for the end; text that is due meanwhile is sent."""
        while True:
            streaming = self.turn_view.streaming
            due = streaming.due if streaming else None
            patience = None if due is None else max(0.0, due - time.monotonic())
            if patience == 0:
                await _safely(self.turn_view.flush())
                patience = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    return await self._queue.get()


async def _safely(showing: Awaitable[None]) -> None:
    """Show something; a defect in showing must not end the turn, whose words are stored."""
    try:
        await showing
    except Exception:
        log.exception("something could not be shown")
