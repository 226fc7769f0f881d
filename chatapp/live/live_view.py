"""Takes the events of a run and shows them in order, whatever goes wrong in showing.

Taking an event returns at once. A task of its own handles them, coalesces streamed text, and does
all that reads the database or renders a template.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

from chatapp.agent import events
from chatapp.context.turn_context import TurnContext
from chatapp.live import outgoing_frames
from chatapp.live.status_panel import Notice, QueueView
from chatapp.live.turn_view import TurnView
from chatapp.live.watchers import Watchers
from chatapp.models.database import reading
from chatapp.number_formats import reader_locale
from chatapp.transcript import row_pages

log = logging.getLogger(__name__)

Hearing = asyncio.Queue[events.TurnEvent | None]


class LiveView:
    """The audience of one conversation: whatever it is told, its watchers see."""

    def __init__(
        self,
        conversation_id: uuid.UUID,
        watchers: Watchers | None = None,
        *,
        on_wait: Callable[[], None] = lambda: None,
    ) -> None:
        """Show that nothing runs; ``on_wait`` is called when a turn waits for a person, or not."""
        self.conversation_id = conversation_id
        self.watchers = Watchers() if watchers is None else watchers
        self.turn_view = TurnView(conversation_id, self.watchers, on_wait=on_wait)
        self.queue = QueueView(conversation_id, self.watchers)
        self._events: asyncio.Queue[events.TurnEvent | None] = asyncio.Queue()
        self._presenter: asyncio.Task[None] | None = None
        self._hearers: set[Hearing] = set()

    def hear(self) -> Hearing:
        """Return a queue of all events from now on; None in it says that what ran has ended."""
        hearing: Hearing = asyncio.Queue()
        self._hearers.add(hearing)
        return hearing

    def forget(self, hearing: Hearing) -> None:
        """Put no more events into a queue."""
        self._hearers.discard(hearing)

    async def listen(self, hearing: Hearing) -> AsyncIterator[events.TurnEvent]:
        """Yield the events of a queue until what runs has ended."""
        try:
            while (event := await hearing.get()) is not None:
                yield event
        finally:
            self.forget(hearing)

    def begin(self, run: TurnContext) -> None:
        """Show that something runs, with what it answers, and take events from now on."""
        self.turn_view.begin(run)
        if run.question:
            self.publish(events.MessageAppended(run.question))
        self._presenter = asyncio.create_task(self._present())

    def publish(self, event: events.TurnEvent) -> None:
        """Take an event of what runs."""
        self._events.put_nowait(event)
        for hearing in self._hearers:
            hearing.put_nowait(event)

    async def end(self, status: str, notice: Notice | None, *, changed: bool = False) -> None:
        """Show all events that came, then that nothing runs any more, and why.

        With ``changed`` there is a row that says how it ended.
        """
        self._events.put_nowait(None)
        try:
            if self._presenter:
                await self._presenter
            await self._safely(self.turn_view.settle())
            await self.turn_view.end(status, notice, changed=changed)
        finally:
            # Who hears that may begin something else at once.
            for hearing in self._hearers:
                hearing.put_nowait(None)

    async def _present(self) -> None:
        """Show events as they come, and text when it is due."""
        while True:
            streaming = self.turn_view.streaming
            due = streaming.parts[-1].due if streaming else None
            try:
                async with asyncio.timeout(due and max(0.0, due - time.monotonic())):
                    event = await self._events.get()
            except TimeoutError:
                await self._safely(self.turn_view.flush())
                continue
            if event is None:
                return
            if not isinstance(event, events.TextStreamed | events.ThinkingStreamed):
                await self._safely(self.turn_view.flush())
            await self._safely(self.turn_view.show(event))

    async def snapshot(self, place: outgoing_frames.Place) -> outgoing_frames.Frame:
        """Return the frame that brings a page up to date as of ``place``, whatever it shows."""
        turn_view = self.turn_view
        revision = await reading(row_pages.revision)(self.conversation_id)
        articles, panel = await turn_view.articles(), await turn_view.panel()
        streaming = turn_view.streaming
        return outgoing_frames.snapshot(
            place,
            revision=revision,
            turn=turn_view.turn,
            status=turn_view.status,
            waits=turn_view.waits,
            articles=articles,
            streamed=await streaming.snapshot() if streaming else (),
            panel=panel,
            queue=await self.queue.render(),
        )

    async def show_change(self) -> None:
        """Have every page fetch the transcript and the panel again."""
        await self._safely(self.turn_view.show_change())

    async def show_notice(self, notice: Notice | None) -> None:
        """Show every page this line at the composer, or none."""
        self.turn_view.notice = notice
        await self.show_panel()

    async def show_panel(self) -> None:
        """Show every page how the context stands."""
        await self._safely(self.turn_view.show_panel())

    async def show_queue(self) -> None:
        """Show every page the messages that wait."""
        await self._safely(self.queue.show())

    def show_list(self) -> None:
        """Have every page fetch its list of conversations again."""
        self.watchers.send(outgoing_frames.list_changed())

    async def _safely(self, showing: Awaitable[None]) -> None:
        """Show something; a defect in showing must not end the turn, whose words are stored."""
        reader_locale.set(self.watchers.locale)
        try:
            await showing
        except Exception:
            log.exception("something could not be shown")
