"""What a running turn shows: its events become frames, rendered once for all watchers.

Events come from the agent loop, and taking one returns at once. A presenter task handles them in
order, coalesces streamed text, and does all that reads the database or renders a template.
"""

import asyncio
import functools
import logging
import time
import uuid
from collections.abc import Callable

from asgiref.sync import sync_to_async
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from chatapp import transcript
from chatapp.agent import events
from chatapp.context.runs import Run
from chatapp.live import protocol
from chatapp.live.context_bar import state_of
from chatapp.live.panel import Band, Notice, read_panel, render_panel, words_written
from chatapp.live.streamed_text import Streaming

log = logging.getLogger(__name__)

Send = Callable[[protocol.Frame], None]


class LiveView:
    """The audience of one conversation; ``send`` hands a frame to every watcher."""

    def __init__(self, conversation_id: uuid.UUID, send: Send) -> None:
        """Show that nothing runs."""
        self.conversation_id = conversation_id
        self.running = False
        self.status = ""
        self.band: Band | None = None
        self.notice: Notice | None = None
        self._send = send
        # What the run told of the context; None where the database has to be asked.
        self._run: Run | None = None
        self._context: events.ContextChanged | None = None
        self._streaming: Streaming | None = None
        self._row: tuple[str, str] | None = None
        self._row_seq = 0
        self._tools: dict[str, events.ToolStarted | events.ToolFinished] = {}
        self._queue: asyncio.Queue[events.TurnEvent | None] = asyncio.Queue()
        self._presenter: asyncio.Task[None] | None = None

    def publish(self, event: events.TurnEvent) -> None:
        """Take an event of what runs."""
        self._queue.put_nowait(event)

    async def begin(self, run: Run) -> None:
        """Show that something runs, and take events from now on."""
        self.running, self.notice = True, None
        self._run, self._context = run, None
        self._show_status(_("Thinking…"))
        self._presenter = asyncio.create_task(self._present())
        await self._show_panel()

    async def end(self, status: str, notice: Notice | None) -> None:
        """Show all events that came, then that nothing runs any more, and why."""
        self._queue.put_nowait(None)
        # What was stopped before it began has no presenter, but perhaps a message to show.
        await (self._presenter or self._present())
        self._presenter = None
        self._remove_streaming()
        try:
            if self._row:
                await self._show_row(self._row_seq)
            self._row, self._tools = None, {}
            self.band, self.notice = None, notice
            panel = await self._panel()
        finally:
            self.running = False
            self._show_status(status)
            self._run = self._context = None
        self._send(panel)

    def articles(self) -> list[tuple[str, str]]:
        """Return (element id, HTML) of what is in flight, in the transcript's order."""
        rows = [self._row] if self._row else []
        if self._streaming:
            rows.append((self._streaming.id, self._streaming.render()))
        return rows

    async def snapshot(self) -> list[protocol.Frame]:
        """Return the frames that bring a page up to date, whatever it shows."""
        frames = [
            protocol.snapshot(
                revision=await sync_to_async(transcript.revision)(self.conversation_id),
                running=self.running,
                status=self.status,
                articles=self.articles(),
                panel=await self._panel(),
            )
        ]
        if self._streaming:
            frames.append(self._streaming.snapshot())
        return frames

    async def show_change(self) -> None:
        """Have every page fetch the transcript and the panel again."""
        # What the run knows of the context may be outdated from here on.
        self._run = None
        await self._show_transcript_change()
        await self._show_panel()

    # The presenter

    async def _present(self) -> None:
        while True:
            try:
                event = await asyncio.wait_for(self._queue.get(), self._patience())
            except TimeoutError:
                self._flush()
                continue
            if event is None:
                return
            await self._show_safely(event)

    def _patience(self) -> float | None:
        """Return the seconds until streamed text has to be sent, None without any."""
        due = self._streaming.due if self._streaming else None
        return None if due is None else max(0.0, due - time.monotonic())

    async def _show_safely(self, event: events.TurnEvent) -> None:
        """Show an event; a defect in showing must not end the turn, whose words are stored."""
        try:
            if not isinstance(event, events.TextStreamed):
                self._flush()
            await self._show(event)
        except Exception:
            log.exception("%s could not be shown", type(event).__name__)

    @functools.singledispatchmethod
    async def _show(self, event: events.TurnEvent) -> None:
        raise NotImplementedError(type(event))

    @_show.register
    async def _(self, event: events.TextStreamed) -> None:
        if self._streaming is None:
            self._streaming = Streaming()
            self._send(protocol.article_upserted(self._streaming.id, self._streaming.render()))
            self._show_status(_("Writing…"))
            await self._end_wait()
        self._streaming.feed(event.text)

    @_show.register
    async def _(self, _event: events.StepStarted) -> None:
        self.notice = None
        self._show_status(_("Thinking…"))
        await self._end_condensing()

    @_show.register
    async def _(self, event: events.ToolUseStarted) -> None:
        self._show_status(_("Calling %(tool)s…") % {"tool": event.name})
        await self._end_wait()

    @_show.register(events.ToolStarted)
    @_show.register(events.ToolFinished)
    async def _(self, event: events.ToolStarted | events.ToolFinished) -> None:
        self._tools[event.id] = event
        if isinstance(event, events.ToolStarted):
            self._show_status(_("Running %(tool)s…") % {"tool": event.name})
        await self._show_row(self._row_seq)

    @_show.register
    async def _(self, event: events.MessageAppended) -> None:
        self._remove_streaming()
        if not event.message.tool_results:
            self._row_seq = event.message.seq
        await self._show_row(self._row_seq)

    @_show.register
    async def _(self, event: events.ContextChanged) -> None:
        self._context = event
        if not self.band:
            await self._show_panel()

    @_show.register
    async def _(self, _event: events.StreamDiscarded) -> None:
        self._remove_streaming()

    @_show.register
    async def _(self, event: events.RetryScheduled) -> None:
        self.notice = Notice("retry", event.reason, until=time.time() + event.seconds)
        self._show_status(
            _("Trying again: %(attempt)d of %(attempts)d")
            % {"attempt": event.attempt, "attempts": event.attempts}
        )
        await self._show_panel()

    @_show.register
    async def _(self, event: events.CondensingStarted) -> None:
        # One attempt after the other is one wait for people.
        self.band = self.band or Band(event.trigger)
        self._show_status(_("Condensing context…"))
        await self._show_panel()

    @_show.register
    async def _(self, event: events.CondensingProgressed) -> None:
        if not self.band:
            return
        if self.notice:
            self._show_status(_("Condensing context…"))
            await self._end_wait()
        self.band.tokens_written = event.tokens_written
        self._send(protocol.condensing_progressed(words_written(self.band)))

    @_show.register
    async def _(self, _event: events.CondensingFellBack) -> None:
        self.notice = None
        if self.band:
            self.band.tokens_written = 0
        await self._show_transcript_change()
        await self._show_panel()

    @_show.register
    async def _(self, event: events.CondensingEnded) -> None:
        self.band = self.notice = None
        self._show_status(transcript.outcome_name(event.kind, event.status))
        await self._show_transcript_change()
        await self._show_panel()

    # Pieces

    def _flush(self) -> None:
        streaming = self._streaming
        if streaming and streaming.due is not None:
            self._send(streaming.news())

    async def _end_condensing(self) -> None:
        """Take back the band of an attempt that was cancelled before it could say so."""
        if self.band:
            self.band = None
            await self._show_panel()

    async def _end_wait(self) -> None:
        """Take back the notice of a retry that worked."""
        if self.notice:
            self.notice = None
            await self._show_panel()

    def _remove_streaming(self) -> None:
        if self._streaming:
            self._send(protocol.article_removed(self._streaming.id))
            self._streaming = None

    async def _show_row(self, seq: int) -> None:
        self._row = await sync_to_async(_render_row)(self.conversation_id, seq, dict(self._tools))
        self._send(protocol.article_upserted(*self._row))

    def _show_status(self, text: str) -> None:
        self.status = text
        self._send(protocol.status_changed(text, running=self.running))

    async def _show_transcript_change(self) -> None:
        revision = await sync_to_async(transcript.revision)(self.conversation_id)
        self._send(protocol.transcript_changed(revision))

    async def _show_panel(self) -> None:
        self._send(await self._panel())

    async def _panel(self) -> protocol.Frame:
        if self._run and self._context:
            state = state_of(self._run, self._context.history, self._context.tokens)
            return render_panel(state, self.band, self.notice)
        return await sync_to_async(read_panel)(self.conversation_id, self.band, self.notice)


def _render_row(
    conversation_id: uuid.UUID,
    seq: int,
    tools: dict[str, events.ToolStarted | events.ToolFinished],
) -> tuple[str, str]:
    row, conversation = transcript.live_row(conversation_id, seq, tools)
    html = render_to_string(row.template, {"row": row, "conversation": conversation})
    return row.id, html
