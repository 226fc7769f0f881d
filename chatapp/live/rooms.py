"""Rooms: a conversation while somebody watches it or something runs in it.

What runs is a task of its own, so it goes on when the browser that started it goes away. Watchers
get frames through a queue each; one that can't keep up is dropped and comes back for a snapshot.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

from asgiref.sync import sync_to_async
from django.db import DatabaseError

from chatapp import services
from chatapp.context import budgets
from chatapp.context.keeper import Keeper
from chatapp.live import protocol
from chatapp.live.endings import Ending, ending_of, storage_failed
from chatapp.live.presenter import LiveView
from chatapp.models import Turn

# Frames a watcher may be behind before it is dropped; a fast reply makes some 20 a second.
BACKLOG = 500

Watcher = asyncio.Queue[protocol.Frame | None]
Job = Callable[[], Awaitable[str | None]]


class Room:
    """One conversation while somebody watches it or something runs in it."""

    def __init__(self, conversation_id: uuid.UUID) -> None:
        """Open an empty room."""
        self.conversation_id = conversation_id
        self.watchers: set[Watcher] = set()
        self.view = LiveView(conversation_id, self.broadcast)
        self.job: asyncio.Task[None] | None = None
        self.keeper: Keeper | None = None
        # Held from the check that nothing runs until something does.
        self.starting = asyncio.Lock()
        self._work: asyncio.Task[str | None] | None = None
        self._changes: set[asyncio.Task[None]] = set()

    @property
    def idle(self) -> bool:
        """Whether nobody watches and nothing runs."""
        return not (self.watchers or self.busy)

    @property
    def busy(self) -> bool:
        """Whether something runs or is about to."""
        return bool(self.job) or self.starting.locked()

    def broadcast(self, frame: protocol.Frame) -> None:
        """Hand a frame to every watcher; drop those that fell behind."""
        for watcher in list(self.watchers):
            if watcher.qsize() < BACKLOG:
                watcher.put_nowait(frame)
            else:
                self.watchers.discard(watcher)
                watcher.put_nowait(None)

    async def watch(self) -> AsyncIterator[protocol.Frame]:
        """Yield a snapshot, then every frame; ends when the watcher falls too far behind."""
        watcher: Watcher = asyncio.Queue()
        self.watchers.add(watcher)
        try:
            for frame in await self.view.snapshot():
                yield frame
            while (frame_ := await watcher.get()) is not None:
                yield frame_
        finally:
            self.watchers.discard(watcher)
            hub.close_idle(self)

    def start(self, work: Job, turn: Turn | None) -> None:
        """Run ``work`` as this room's job; ``turn`` is closed with how it ended."""
        self._work = asyncio.create_task(self._do(work))
        self.job = asyncio.create_task(self._run(self._work, turn))

    async def _do(self, work: Job) -> str | None:
        await self.view.begin()
        return await work()

    async def _run(self, work: asyncio.Task[str | None], turn: Turn | None) -> None:
        # Stop cancels the work and never this: however it ends, the room is free again.
        ending = await ending_of(work)
        try:
            if turn:
                ending = await sync_to_async(_finish)(turn, ending)
        finally:
            await self._close(ending)

    async def _close(self, ending: Ending) -> None:
        try:
            await self.view.end(ending.status, ending.notice)
        finally:
            self.job = self.keeper = self._work = None
            hub.close_idle(self)

    def show_change(self) -> None:
        """Have all watchers fetch the transcript and the panel again."""
        task = asyncio.create_task(self.view.show_change())
        self._changes.add(task)
        task.add_done_callback(self._changes.discard)

    async def ended(self) -> None:
        """Return when nothing runs any more."""
        if self.job:
            await asyncio.wait({self.job})

    def stop(self) -> None:
        """Stop what runs; what was written so far is kept."""
        if self._work and not self._work.cancelling():
            self._work.cancel()


class Hub:
    """All rooms of this process."""

    def __init__(self) -> None:
        """Know no room yet."""
        self.rooms: dict[uuid.UUID, Room] = {}
        self.loop: asyncio.AbstractEventLoop | None = None
        self.cleared_up = False

    def room(self, conversation_id: uuid.UUID) -> Room:
        """Return the conversation's room, opened when it is not."""
        self.loop = asyncio.get_running_loop()
        return self.rooms.setdefault(conversation_id, Room(conversation_id))

    async def enter(self, conversation_id: uuid.UUID) -> Room:
        """Return the conversation's room; the first one of a process clears up after a crash."""
        if not self.cleared_up:
            self.cleared_up = True
            budgets.warm_up()
            await sync_to_async(services.close_interrupted)()
        return self.room(conversation_id)

    def close_idle(self, room: Room) -> None:
        """Forget a room in which nothing happens."""
        if room.idle and self.rooms.get(room.conversation_id) is room:
            del self.rooms[room.conversation_id]


hub = Hub()


def _finish(turn: Turn, ending: Ending) -> Ending:
    notice = ending.notice
    try:
        services.finish_turn(
            turn=turn,
            status=ending.turn,
            error=notice.text if notice else "",
            details=notice.details if notice else "",
        )
    except (DatabaseError, OSError) as error:
        return storage_failed(error)
    return ending
