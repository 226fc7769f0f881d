"""The turns that run in this process: started, looked after, and ended in order."""

import asyncio
import contextlib
import contextvars
import logging
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, transaction

from chatapp import background_jobs, errors, logs
from chatapp.agent.async_tasks import finish
from chatapp.condensation import background_drafts
from chatapp.context import sizes
from chatapp.context.turn_context import TurnContext
from chatapp.live import hints
from chatapp.live.channel import channel
from chatapp.models import Turn, TurnRequest
from chatapp.providers.http import close_clients
from chatapp.sentences import translate as _
from chatapp.tools.mcp.pool import pool as connections
from chatapp.turns import crash_recovery, lifecycle
from chatapp.turns.runner import TurnTask
from condense import noop

log = logging.getLogger(__name__)

Store = Callable[[], TurnContext | None]

# Seconds between two signs of life, with which a turn also hears what was asked of it.
INTERVAL = 2.0

# Seconds after which a turn that waits for a person does so without a worker.
RELEASED_AFTER = 60.0

# Seconds after which nobody waits for the event loop any longer.
LONGEST_LAG = 5.0

# Seconds that an orderly stop gives to what is stopped to be stored: writes are tried again.
STORING = 20


class RunningTurns:
    """The turns of this process that run, by their ids."""

    interval = INTERVAL

    def __init__(self) -> None:
        self.turns: dict[uuid.UUID, TurnTask] = {}
        self.task_of = TurnTask
        self.loop: asyncio.AbstractEventLoop | None = None
        self.cleared_up = False
        self.closing = False
        # Turns that are being put on record, to run here.
        self._expected: set[uuid.UUID] = set()
        self._beginning, self._begun = 0, asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.observer = crash_recovery.Observer(has_queue=settings.CLUSTER)
        self._heartbeat: asyncio.Task[None] | None = None
        self._clearing = asyncio.Lock()
        self._clearing_up: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def beginning(self) -> AsyncIterator[None]:
        """Let something be put on record that will run; raise Refused while the server stops."""
        if not self.closing:
            await self.clear_up()
        if self.closing:
            raise errors.Refused(_("The server is being stopped. Send it again in a moment."))
        self._beginning += 1
        try:
            yield
        finally:
            self._beginning -= 1
            self._begun.set()

    async def begin(self, store: Store) -> TurnContext | None:
        """Have the turn run that ``store`` puts on record, here or in a worker, and return it.

        None where there is none; raises Refused where it can't begin.
        """
        async with self.beginning():
            # What is on record has to run, whether or not somebody still waits for it.
            return await finish(self._begin(store))

    async def _begin(self, store: Store) -> TurnContext | None:
        run = await sync_to_async(self._put_on_record)(store)
        if run is None:
            return None
        if not settings.CLUSTER:
            # A request's own context ends with it, and takes the threads for its queries along.
            logs.carried().run(self.start, run)
        question = run.question.seq if run.question else 0
        channel.tell(hints.TurnOpened(run.conversation.pk, run.turn.pk, question))
        return run

    def _put_on_record(self, store: Store) -> TurnContext | None:
        """Put a turn on record and in the workers' queue, or among those known here, at once."""
        run = None
        try:
            with transaction.atomic():
                run = store()
                if run and settings.CLUSTER:
                    lifecycle.enqueue_turn(run.turn)
                elif run:
                    self._expected.add(run.turn.pk)
        except BaseException:
            if run:
                self._expected.discard(run.turn.pk)
            raise
        return run

    def __contains__(self, turn: object) -> bool:
        """Whether a turn runs here, or soon will."""
        return turn in self.turns or turn in self._expected

    def start(self, run: TurnContext) -> TurnTask:
        """Let a turn begin here."""
        task = self.task_of(run, lambda: self._end(task))
        self.turns[run.turn.pk] = task
        self._expected.discard(run.turn.pk)
        return task

    def _end(self, task: TurnTask) -> None:
        # It may have been released, and taken up here again.
        if self.turns.get(task.run.turn.pk) is task:
            del self.turns[task.run.turn.pk]

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._settle)

    def _settle(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("something could not be done beside the turns", exc_info=error)

    def find(self, conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> TurnTask | None:
        """Return the turn of this id or nonce if it runs here; without a name, whichever runs."""
        for task in self.turns.values():
            own = task.run.turn
            if own.conversation_id == conversation_id and turn in {None, own.pk, own.nonce}:
                return task
        return None

    def hear(self, hint: hints.Hint) -> None:
        """Heed what a hint asks of a turn that runs here."""
        match hint:
            case hints.TurnRequested(conversation, turn) if task := self.find(conversation, turn):
                if hint.kind == TurnRequest.Kind.STOP:
                    # Also where it could not be put on record.
                    task.stop()
                else:
                    self._start_task(self._heed_all([task.run.turn.pk]))
            case hints.Answered(conversation) if task := self.find(conversation):
                task.wake()
            case hints.ConversationDeleted(conversation) if task := self.find(conversation):
                task.stop()

    async def _heed_all(self, turns: Collection[uuid.UUID]) -> None:
        """Give a sign of life of turns, and do what was asked of them since the last one."""
        tasks = [task for turn in turns if (task := self.turns.get(turn))]
        lost, asked = await sync_to_async(_keep_alive)([task.run.turn for task in tasks])
        for request in asked:
            if task := self.turns.get(request.turn_id):
                task.heed(request)
        for turn in lost:
            if (task := self.turns.get(turn.pk)) and task.run.turn is turn:
                # One that waits for a person waits where it was taken to.
                task.leave("") if task.waits_since else task.stop()

    async def _release(self) -> None:
        """Give the worker back that a turn has which waits for a person: that may take days."""
        moment = time.monotonic()
        for task in [*self.turns.values()] if settings.CLUSTER else ():
            waits = task.waits_since or moment
            if moment - waits < RELEASED_AFTER:
                continue
            if await sync_to_async(lifecycle.release)(task.run.turn, task.run.wishes.awaited):
                task.leave("")

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
                if self.turns:
                    await self._heed_all([*self.turns])
                    await self._release()
                await self.clear_up()
                await self.look_after_others()
            except DatabaseError as error:
                log.warning("a sign of life could not be given; the next one is tried: %s", error)
            except Exception:
                # Without signs of life, other processes would take this one for gone.
                log.exception("a sign of life could not be given; the next one is tried")

    async def look_after_others(self) -> None:
        """Go on with, or close, what other processes left; what waits here looks for an answer."""
        await self.take_over()
        await self._close_interrupted()

    async def _close_interrupted(self) -> None:
        """Close what nobody works on; pages are told, which may be open at any process."""
        close = sync_to_async(crash_recovery.close_interrupted)
        for conversation in await close(self.observer, running=self):
            channel.tell(hints.ConversationChanged(conversation))

    async def clear_up(self) -> None:
        """End what a crash left behind, and go on with what only waited for a person.

        Done once; nothing begins here before, and signs of life are given from then on. Where it
        failed, the next call does it again.
        """
        channel.start()
        if self.loop is None or not self.loop.is_running():
            self.loop = asyncio.get_running_loop()
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
        if settings.CLUSTER:
            # A worker does, once there is something to do.
            await sync_to_async(crash_recovery.enqueue_left)(self.observer)
            return
        for run in await sync_to_async(crash_recovery.take_over)(self.observer, running=self):
            # The next process takes over what this one takes too late.
            if not self.closing:
                self.start(run)
        for task in self.turns.values():
            if task.waits_since:
                task.wake()

    def open(self) -> None:
        """Look after turns from now on, also while nobody is there; needs a running loop."""
        channel.start()
        self.start_heartbeat()
        self._clearing_up = asyncio.create_task(self.try_to_clear_up())

    async def try_to_clear_up(self) -> None:
        """Clear up now where that is possible, and later where it is not."""
        try:
            await self.clear_up()
        except (DatabaseError, OSError) as error:
            log.warning("what the last process left could not be cleared up yet: %s", error)

    async def close(self) -> None:
        """End all that runs, and wait until it is stored; let nothing begin.

        Turns come to a safe point, for which they have ``SAFE_POINT`` seconds, and are interrupted.
        These are for jobs as well, at the same time: whoever stops a process waits for it once.
        What can't be stored is left to the next start to clear up.
        """
        self.closing, last = True, time.monotonic() + settings.SAFE_POINT
        await self._until_begun(_seconds_to(last))
        reason = noop("The server was stopped. What was written until then is kept.")
        for task in self.turns.values():
            task.leave(reason)
        await self._until_ended(_seconds_to(last))
        self.stop_all()
        await self._until_ended(STORING)
        # Their writers are jobs, which would be waited for.
        await background_drafts.drop_all(noop("The server was stopped."))
        await background_jobs.close(_seconds_to(last))
        await connections().close()
        self.stop_heartbeat()
        await channel.close()
        await close_clients()

    def stop_all(self) -> None:
        """Stop all that runs; while the server is being closed, that ends the wait for it."""
        for task in [*self.turns.values()]:
            task.stop()

    async def _until_begun(self, seconds: float) -> None:
        """Wait for what was about to begin, so that it is ended like the rest."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._beginning:
                    self._begun.clear()
                    await self._begun.wait()

    async def _until_ended(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(task.ended() for task in self.turns.values()))

    def lag(self) -> float | None:
        """Return the event loop's lag in seconds, None without one; not callable from the loop."""
        if self.loop is None or self.loop.is_closed():
            return None
        reached, asked = threading.Event(), time.monotonic()
        self.loop.call_soon_threadsafe(reached.set, context=contextvars.Context())
        reached.wait(LONGEST_LAG)
        return time.monotonic() - asked


def _seconds_to(moment: float) -> float:
    """Return the seconds that are left up to a moment."""
    return max(0.0, moment - time.monotonic())


async def run_claimed(turn: str, attempt: int) -> None:
    """Run a turn that was in the queue, to its end, unless another process has taken it.

    The worker's queue calls this; ``attempt`` counts those that were made before.
    """
    if run := await sync_to_async(crash_recovery.claim)(uuid.UUID(turn), attempt):
        await running_turns.start(run).ended()


def _keep_alive(turns: list[Turn]) -> tuple[list[Turn], list[TurnRequest]]:
    """Return turns that were lost, and what was asked of the others, which is taken now."""
    lost, asked = crash_recovery.keep_alive(turns)
    return lost, TurnRequest.objects.take(asked)


running_turns = RunningTurns()
channel.listeners.append(running_turns.hear)
