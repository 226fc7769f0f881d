"""Owns everything that runs: starts turns and condensations, stops them, tells the watchers.

A turn is a task of its own, so it goes on when the browser that started it goes away. Watchers get
frames through a queue each; one that can't keep up is dropped and comes back for a snapshot.
"""

import asyncio
import contextvars
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DatabaseError
from django.utils.translation import gettext as _

import condense
from chatapp import bootstrap, budgets, protocol, services
from chatapp.agent import events
from chatapp.endings import Ending, ending_of, storage_failed
from chatapp.keeper import Keeper
from chatapp.live import LiveView
from chatapp.models import Conversation, Profile, Turn

# Frames a watcher may be behind before it is dropped; a fast reply makes some 20 a second.
BACKLOG = 500

Watcher = asyncio.Queue[protocol.Frame | None]
Job = Callable[[], Awaitable[None]]


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
        self._work: asyncio.Task[None] | None = None
        self._changes: set[asyncio.Task[None]] = set()

    @property
    def idle(self) -> bool:
        """Whether nobody watches and nothing runs."""
        return not (self.watchers or self.job or self.starting.locked())

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

    async def _do(self, work: Job) -> None:
        await self.view.begin()
        await work()

    async def _run(self, work: asyncio.Task[None], turn: Turn | None) -> None:
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


async def send_message(conversation: Conversation, command: protocol.SendMessage) -> None:
    """Store the user's message and start its turn; raise services.Refused when it can't be.

    A message sent again after a lost connection, with the same nonce, starts nothing.
    """
    await _profile_of(conversation)
    room = await hub.enter(conversation.pk)
    async with room.starting:
        if not await _may_start(room, conversation, command.nonce):
            return
        # A rewind that can't be undone any more loses its button.
        settles = await sync_to_async(services.has_undoable_rewind)(conversation)
        tokens = await asyncio.to_thread(budgets.COUNTER.count, command.text)
        started = await sync_to_async(services.start_turn)(
            conversation=conversation,
            text=command.text,
            tokens=tokens,
            nonce=command.nonce,
            replaces=command.replaces,
        )
        if started is None:
            return
        turn, message = started
        room.start(lambda: _run_turn(room, conversation, turn), turn)
    if command.replaces or settles:
        await room.view.show_change()
    else:
        room.view.publish(events.MessageAppended(message))


async def _may_start(room: Room, conversation: Conversation, nonce: uuid.UUID) -> bool:
    """Whether a turn may start now; raise services.Refused while another one runs."""
    if not room.job:
        # What a full disk kept from being closed would be in the way for ever.
        await sync_to_async(services.close_interrupted)(conversation)
        return True
    if await sync_to_async(_is_known)(conversation, nonce):
        return False
    raise services.Refused(_("The previous turn is still running. Stop it first, or wait."))


async def _run_turn(room: Room, conversation: Conversation, turn: Turn) -> None:
    parts = await sync_to_async(_assemble)(room, conversation, turn=turn)
    room.keeper = parts.keeper
    await parts.loop.run()


async def condense_now(conversation: Conversation, focus: str) -> None:
    """Start a condensation by hand; raise services.Refused while something runs."""
    await _profile_of(conversation)
    room = await hub.enter(conversation.pk)
    async with room.starting:
        if room.job:
            raise services.Refused(_("A turn is running. Stop it first, or wait."))
        await sync_to_async(services.close_interrupted)(conversation)
        room.start(lambda: _run_condensation(room, conversation, focus), None)


async def _run_condensation(room: Room, conversation: Conversation, focus: str) -> None:
    parts = await sync_to_async(_assemble)(room, conversation, focus=focus)
    room.keeper = parts.keeper
    history = await parts.journal.effective_history()
    await parts.keeper.fit(history, condense.Trigger.MANUAL)


def stop(conversation_id: uuid.UUID) -> None:
    """Stop the conversation's turn or condensation, if one runs."""
    if room := hub.rooms.get(conversation_id):
        room.stop()


def cancel_condensing(conversation_id: uuid.UUID) -> None:
    """Cancel the condensation that runs; a turn that waits for it goes on."""
    room = hub.rooms.get(conversation_id)
    if room and room.keeper:
        room.keeper.cancel()


def announce_change(conversation_id: uuid.UUID) -> None:
    """Have all pages fetch the transcript again; callable from any thread, returns at once."""
    room = hub.rooms.get(conversation_id)
    if room and hub.loop:
        # A request's own context ends with it, and takes the threads for its queries along.
        hub.loop.call_soon_threadsafe(room.show_change, context=contextvars.Context())


def live_articles(conversation_id: uuid.UUID) -> list[tuple[str, str]]:
    """Return (element id, HTML) of what is being written now, for a page that loads."""
    room = hub.rooms.get(conversation_id)
    return room.view.articles() if room else []


async def _profile_of(conversation: Conversation) -> Profile:
    """Return the profile that answers, as it is now; raise services.Refused without one."""
    profile = await Profile.objects.filter(pk=conversation.profile_id or 0).afirst()
    if profile is None:
        raise services.Refused(_("This conversation has no profile. Choose one in its header."))
    return profile


def _assemble(room: Room, conversation: Conversation, **options: Any) -> bootstrap.Parts:
    fresh = Conversation.objects.select_related("profile", "owner").get(pk=conversation.pk)
    if fresh.profile is None:
        raise services.Refused(_("This conversation has no profile. Choose one in its header."))
    preferences = services.preferences_of(fresh.owner)
    return bootstrap.assemble(fresh, fresh.profile, preferences, room.view, **options)


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


def _is_known(conversation: Conversation, nonce: uuid.UUID) -> bool:
    return Turn.objects.filter(conversation=conversation, nonce=nonce).exists()
