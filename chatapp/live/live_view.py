"""The live view of a conversation: what its open pages see of a turn, in order.

A task of its own follows the turn's events, coalesces streamed text, and does all that reads the
database or renders a template, whatever goes wrong in showing.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Awaitable, Coroutine
from typing import Any

from chatapp.agent import events
from chatapp.context.turn_context import known_runs
from chatapp.languages import in_words
from chatapp.live import outgoing_frames
from chatapp.live.channel import Events, channel
from chatapp.live.outgoing_frames import Watchers
from chatapp.live.status_panel import Notice, QueueView
from chatapp.live.turn_view import TurnView
from chatapp.models import Turn
from chatapp.models.database import reading
from chatapp.transcript import row_pages

log = logging.getLogger(__name__)

# Seconds for which a page that comes waits for what was told of a turn before …
LONGEST_CATCHING_UP = 1.0
# … and a turn for the end of the one before it to be shown.
LONGEST_END = 5.0


class LiveView:
    """The live view of one conversation: whatever it is told, its watchers see."""

    def __init__(self, conversation_id: uuid.UUID, watchers: Watchers | None = None) -> None:
        self.conversation_id = conversation_id
        self.watchers = Watchers() if watchers is None else watchers
        self.turn_view = TurnView(conversation_id, self.watchers)
        self.queue = QueueView(conversation_id, self.watchers)
        # The turn whose events are shown, until its end is.
        self.followed: uuid.UUID | None = None
        # How many turns were shown.
        self.turns = 0
        self._following: asyncio.Task[None] | None = None
        self._caught_up = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, turn: uuid.UUID, *, question: int = 0, waits: bool = False) -> None:
        """Show a turn from now on, and first what it answers; one that ``waits`` does so."""
        if self.followed != turn:
            self.followed = turn
            self.turns += 1
            self._caught_up.clear()
            work = self._follow(turn, self._following, question, waits)
            # A page's own context would take its thread for queries along when it goes.
            self._following = asyncio.create_task(work)

    def leave(self) -> None:
        """Follow nothing any more: nobody watches."""
        self.followed = None
        for task in (self._following, *self._tasks):
            if task:
                task.cancel()

    async def catch_up(self) -> None:
        """Show what runs by now, whatever was not heard of it."""
        before = self.followed
        turn = await reading(_find_unfinished)(self.conversation_id)
        # What was heard of while this was read is newer.
        is_newest = self.followed == before
        if is_newest and turn and turn.pk != before:
            self.follow(turn.pk, waits=turn.waits)
        elif is_newest and before and turn is None:
            await self._end_unheard(before)
        if self.followed and self.followed != before:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._caught_up.wait(), LONGEST_CATCHING_UP)

    async def _follow(
        self, turn: uuid.UUID, before: asyncio.Task[None] | None, question: int, waits: bool
    ) -> None:
        if before and not before.done():
            await asyncio.wait({before}, timeout=LONGEST_END)
            before.cancel()
        self.watchers.reader.enter()
        self.turn_view.begin(turn, known_runs.get(turn), waits=waits)
        if question:
            asked = events.MessageAppended(question, "user")
            await self._safely(self.turn_view.show(asked))
        async with channel.read(turn) as told:
            await self._present(told)
        if self.followed == turn:
            self.followed = None

    async def _end_unheard(self, turn: uuid.UUID) -> None:
        """Show that a turn is over whose end was not heard, nor is a moment later."""
        if self._following:
            await asyncio.wait({self._following}, timeout=LONGEST_CATCHING_UP)
        row = await reading(Turn.objects.filter(pk=turn).first)()
        if self.followed != turn or (row and not row.is_over):
            return
        self.followed = None
        if self._following:
            self._following.cancel()
        said = row.get_status_display().capitalize() if row else ""
        await self._safely(self.turn_view.settle())
        await self._safely(self.turn_view.end(f"{said}.", None, changed=True))

    async def _present(self, told: Events) -> None:
        """Show events as they come, and text when it is due, until the turn has ended."""
        while True:
            streaming = self.turn_view.streaming
            due = streaming.parts[-1].due if streaming else None
            seconds = due and due - time.monotonic()
            if told.empty():
                self._caught_up.set()
                if seconds is not None and seconds <= 0:
                    # To run into a timeout takes longer than this.
                    await self._safely(self.turn_view.flush())
                    continue
            try:
                async with asyncio.timeout(seconds):
                    event = await told.get()
            except TimeoutError:
                await self._safely(self.turn_view.flush())
                continue
            if not isinstance(event, events.TextStreamed | events.ThinkingStreamed):
                await self._safely(self.turn_view.flush())
            if isinstance(event, events.TurnEnded):
                return await self._end(event)
            await self._safely(self.turn_view.show(event))

    async def _end(self, ended: events.TurnEnded) -> None:
        """Show that nothing runs any more, and why."""
        notice = Notice(ended.kind, ended.reason, ended.details) if ended.reason else None
        await self._safely(self.turn_view.settle())
        status = in_words(ended.status)
        await self._safely(self.turn_view.end(status, notice, changed=ended.has_row))
        self._caught_up.set()

    async def snapshot(self, place: outgoing_frames.Place) -> outgoing_frames.Frame:
        """Return the frame that brings a page up to date as of ``place``, whatever it shows."""
        turn_view = self.turn_view
        revision = await reading(row_pages.revision)(self.conversation_id)
        articles, panel = await turn_view.articles(), await turn_view.panel()
        growing = turn_view.growing
        return outgoing_frames.snapshot(
            place,
            revision=revision,
            turn=turn_view.turn,
            status=turn_view.status,
            waits=turn_view.waits,
            articles=articles,
            streamed=await growing.snapshot() if growing else (),
            panel=panel,
            queue=await self.queue.render(),
        )

    def start(self, showing: Coroutine[Any, Any, None]) -> None:
        """Show something beside the turn's events."""
        task = asyncio.create_task(showing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def show_change(self) -> None:
        """Have every page fetch the transcript and the panel again."""
        await self._safely(self.catch_up())
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
        self.watchers.reader.enter()
        try:
            await showing
        except Exception:
            log.exception("something could not be shown")


def _find_unfinished(conversation_id: uuid.UUID) -> Turn | None:
    return Turn.objects.unfinished().filter(conversation=conversation_id).first()
