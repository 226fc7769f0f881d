"""The active conversations of this process: opened when somebody comes, ended in order."""

import asyncio
import contextlib
import contextvars
import logging
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError
from django.utils.translation import gettext as _

from chatapp import errors
from chatapp.condensation import background_drafts
from chatapp.context import sizes
from chatapp.live import outgoing_frames
from chatapp.models import Conversation
from chatapp.models.database import reading
from chatapp.providers.http import close_clients
from chatapp.tools.mcp.pool import pool as connections
from chatapp.turns import crash_recovery
from chatapp.turns.active_conversation import ActiveConversation
from chatapp.turns.observer import Observer
from chatapp.turns.runner import TurnTask

log = logging.getLogger(__name__)

# Seconds between two signs of life, and between two looks for those of others (``Observer``).
INTERVAL = 2.0

# Seconds after which nobody waits for the event loop any longer.
LONGEST_LAG = 5.0

# Seconds that an orderly stop gives to what is stopped to be stored: writes are tried again.
STORING = 20


@dataclass(frozen=True, slots=True)
class Load:
    """Turns that run, pages that watch, and the event loop's lag in seconds, None without one."""

    turns: int
    watchers: int
    lag: float | None


class ActiveConversations:
    """The active conversations of this process, by id in ``conversations``."""

    interval = INTERVAL

    def __init__(self) -> None:
        self.conversations: dict[uuid.UUID, ActiveConversation] = {}
        self.runner = TurnTask
        self.observer = Observer()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.cleared_up = False
        self.closing = False
        self._heartbeat: asyncio.Task[None] | None = None
        self._clearing = asyncio.Lock()
        self._opening: asyncio.Task[None] | None = None

    @property
    def running_turns(self) -> list[TurnTask]:
        """What runs."""
        # Counted from another thread, while conversations begin and end.
        return [running for active in [*self.conversations.values()] if (running := active.running)]

    def start_heartbeat(self) -> None:
        """Give signs of life from now on, and look for processes that are gone; once is enough."""
        if self._heartbeat is None or self._heartbeat.done():
            self._heartbeat = asyncio.create_task(self._beat())

    def stop_heartbeat(self) -> None:
        """Give no more signs of life."""
        if self._heartbeat:
            self._heartbeat.cancel()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.interval)
            try:
                if turns := [running.run.turn for running in self.running_turns]:
                    lost, _asked = await sync_to_async(crash_recovery.keep_alive)(turns)
                    for turn in lost:
                        self.let_go(turn.pk)
                await self.clear_up()
                await self.take_over()
                for conversation in await self._close_interrupted():
                    self.show_change(conversation)
            except Exception:
                # Without signs of life, other processes would take this one for gone.
                log.exception("a sign of life could not be given; the next one is tried")

    @property
    def _running_ids(self) -> list[uuid.UUID]:
        return [running.run.turn.pk for running in self.running_turns]

    async def _close_interrupted(self) -> set[uuid.UUID]:
        close = sync_to_async(crash_recovery.close_interrupted)
        return await close(self.observer, running=self._running_ids)

    def let_go(self, turn_id: uuid.UUID) -> None:
        """Stop a turn that was ended elsewhere; one that waits for a person waits there now."""
        for active in self.conversations.values():
            if (running := active.running) and running.run.turn.pk == turn_id:
                if active.view.turn_view.waits:
                    running.leave("")
                else:
                    running.stop()

    def show_change(self, conversation_id: uuid.UUID) -> None:
        """Have the pages of a conversation fetch it again."""
        if active := self.conversations.get(conversation_id):
            active.show_change()

    def activate(self, conversation_id: uuid.UUID) -> ActiveConversation:
        """Return the active conversation, made where it is not active yet."""
        self.loop = asyncio.get_running_loop()
        if conversation_id not in self.conversations:
            self.conversations[conversation_id] = ActiveConversation(conversation_id, self)
        return self.conversations[conversation_id]

    def conversations_of(self, user_pk: int) -> list[uuid.UUID]:
        """Return the ids of a user's active conversations; reads the database."""
        own = Conversation.objects.filter(owner=user_pk, pk__in=[*self.conversations])
        return list(own.values_list("pk", flat=True))

    async def show_list(self, user_pk: int, *, but: ActiveConversation) -> None:
        """Have a user's pages, ``but`` those of one conversation, fetch their list again."""
        for conversation_id in await reading(self.conversations_of)(user_pk):
            active = self.conversations.get(conversation_id)
            if active and active is not but:
                active.view.show_list()

    def tell(self, conversation_id: uuid.UUID, what: Callable[[ActiveConversation], None]) -> None:
        """Do something to an active conversation soon; callable from any thread."""
        active = self.conversations.get(conversation_id)
        if active and self.loop:
            # A request's own context ends with it, and takes the threads for its queries along.
            self.loop.call_soon_threadsafe(what, active, context=contextvars.Context())

    def running(self, conversation_id: uuid.UUID, turn: uuid.UUID | None) -> TurnTask | None:
        """Return the turn of this id or nonce if it runs; without a name, whichever runs."""
        active = self.conversations.get(conversation_id)
        if active and (running := active.running):
            names = {None, running.run.turn.pk, running.run.turn.nonce}
            return running if turn in names else None
        return None

    async def watch(
        self, conversation_id: uuid.UUID, since: outgoing_frames.Place | None
    ) -> AsyncIterator[str]:
        """Return the frames that a page lacks which has everything up to ``since``, then all.

        They end when the page falls too far behind.
        """
        await self._try_to_clear_up()
        return self._watch(self.activate(conversation_id), since)

    async def _watch(
        self, active: ActiveConversation, since: outgoing_frames.Place | None
    ) -> AsyncIterator[str]:
        with active.held():
            watching = active.watchers.watch(active.view.snapshot, since)
            async with contextlib.aclosing(watching) as texts:
                async for text in texts:
                    yield text

    def newest(self, conversation_id: uuid.UUID) -> int:
        """Return the number of the last change that pages of a conversation were told of."""
        active = self.conversations.get(conversation_id)
        return active.watchers.change if active else 0

    @contextlib.asynccontextmanager
    async def enter(self, conversation_id: uuid.UUID) -> AsyncIterator[ActiveConversation]:
        """Keep a conversation active in which something is to begin.

        Raises Refused while the server stops.
        """
        if not self.closing:
            await self.clear_up()
        if self.closing:
            raise errors.Refused(_("The server is being stopped. Send it again in a moment."))
        with self.activate(conversation_id).held() as active:
            yield active

    async def clear_up(self) -> None:
        """End what a crash left behind, and go on with what only waited for a person.

        Done once; nothing begins here before, and signs of life are given from then on. Where it
        failed, the next call does it again.
        """
        async with self._clearing:
            if self.cleared_up:
                return
            sizes.warm_up()
            await self._close_interrupted()
            await sync_to_async(crash_recovery.close_left)()
            self.cleared_up = True
            self.start_heartbeat()
            await self.take_over()

    async def take_over(self) -> None:
        """Go on with turns that wait for a person, and whose own process is gone.

        Those that wait in this one look whether they were answered in another.
        """
        if self.closing:
            return
        take_over = sync_to_async(crash_recovery.take_over)
        for run in await take_over(self.observer, running=self._running_ids):
            # The next process takes over what this one takes too late.
            if not self.closing:
                self.activate(run.conversation.pk).start(run)
        for active in self.conversations.values():
            if active.view.turn_view.waits:
                active.wake()

    def open(self) -> None:
        """Look after turns from now on, also while nobody is there; needs a running loop."""
        self.start_heartbeat()
        self._opening = asyncio.create_task(self._try_to_clear_up())

    async def _try_to_clear_up(self) -> None:
        try:
            await self.clear_up()
        except (DatabaseError, OSError) as error:
            log.warning("what the last process left could not be cleared up yet: %s", error)

    async def close(self) -> None:
        """End all that runs, and wait until it is stored; let nothing begin.

        Turns come to a safe point, for which they have ``SAFE_POINT`` seconds, and are interrupted.
        What can't be stored is left to the next start to clear up.
        """
        self.closing = True
        await self._until_begun(settings.SAFE_POINT)
        reason = _("The server was stopped. What was written until then is kept.")
        for running in self.running_turns:
            running.leave(reason)
        await self._until_ended(settings.SAFE_POINT)
        self.stop_all()
        await self._until_ended(STORING)
        await background_drafts.drop_all(_("The server was stopped."))
        await connections().close()
        self.stop_heartbeat()
        await close_clients()

    def stop_all(self) -> None:
        """Stop all that runs; while the server is being closed, that ends the wait for it."""
        for running in self.running_turns:
            running.stop()

    async def _until_begun(self, seconds: float) -> None:
        """Wait for what was about to begin, so that it is ended like the rest."""
        conversations = [*self.conversations.values()]
        for active in conversations:
            active.cancel_idle_task()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for active in conversations:
                    async with active.start_lock:
                        pass

    async def _until_ended(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(running.ended() for running in self.running_turns))

    def load(self) -> Load:
        """Return how busy this process is; callable from any thread but the event loop's."""
        watchers = sum(active.watchers.count for active in [*self.conversations.values()])
        lag = None
        if self.loop and not self.loop.is_closed():
            reached, asked = threading.Event(), time.monotonic()
            self.loop.call_soon_threadsafe(reached.set, context=contextvars.Context())
            reached.wait(LONGEST_LAG)
            lag = time.monotonic() - asked
        return Load(len(self.running_turns), watchers, lag)


registry = ActiveConversations()
