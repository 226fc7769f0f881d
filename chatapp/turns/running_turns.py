"""The turns that run in this process: started, supervised, and ended in order."""

import asyncio
import contextlib
import contextvars
import logging
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator

from django.conf import settings
from django.db import DatabaseError, transaction

from chatapp.agent import async_tasks
from chatapp.agent.annotated_blocks import forgets
from chatapp.agent.async_tasks import finish
from chatapp.condensing import background_drafts
from chatapp.conversations.context import sizes
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.models import Turn, TurnRequest, errors
from chatapp.models.database import give_back_idle, reading, recovering, writing
from chatapp.operations import background_jobs, processes
from chatapp.page.live import hints
from chatapp.page.live.channel import channel
from chatapp.project import logs
from chatapp.providers.http import close_clients
from chatapp.tools.mcp.pool import pool as connections
from chatapp.turns import crash_recovery, lifecycle
from chatapp.turns.runner import TurnTask
from condense import noop

log = logging.getLogger(__name__)

Store = Callable[[], TurnContext | None]

# Seconds after which a turn that waits for a person does so without a worker.
RELEASED_AFTER = 60.0

# Signs of life between two looks for work left by a process that nobody here has seen to be gone,
# and for turns that no worker has taken.
RECOVER_EVERY = 15

# Seconds after which nobody waits for the event loop any longer.
LONGEST_LAG = 5.0

# Seconds of an orderly stop for storing the stopped turns: writes are tried again.
STORING = 20


_STOPPED = noop("The server was stopped. What was written until then is kept.")


class RunningTurns:
    """The running turns of this process, by their ids."""

    def __init__(self) -> None:
        self.turns: dict[uuid.UUID, TurnTask] = {}
        self.task_of = TurnTask
        self.loop: asyncio.AbstractEventLoop | None = None
        self.cleared_up = False
        self.closing = False
        # Turns that are being put on record, to run here.
        self._expected: set[uuid.UUID] = set()
        self._beginning, self._begun = 0, asyncio.Event()
        # Two turns are stored at a time: the call of one that has begun waits for no crowd.
        self._storing = asyncio.Semaphore(2)
        self._tasks: set[asyncio.Task[None]] = set()
        self._looks = 0
        # True if a turn of this process may be on record as unfinished although it does not run.
        self._may_hold = False
        self._asked: float | None = None
        self._looking: asyncio.Task[None] | None = None
        # The number of processes found gone, and that number when nothing was left of them.
        self._gone, self._recovered = 0, 0
        self._clearing = asyncio.Lock()
        self._clearing_up: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def beginning(self) -> AsyncIterator[None]:
        """Allow turns to be opened in the block; raise Stopping while the server stops."""
        if not self.closing:
            await self.clear_up()
        if self.closing:
            raise errors.Stopping
        self._beginning += 1
        try:
            yield
        finally:
            self._beginning -= 1
            self._begun.set()

    async def begin(self, store: Store) -> TurnContext | None:
        """Open a turn with ``store``, run it here or in a worker, and return it.

        None if there is none; raises Refused if it can't begin.
        """
        async with self.beginning():
            # A turn on record has to run, also if nobody waits for it any more.
            return await finish(self._begin(store))

    async def _begin(self, store: Store) -> TurnContext | None:
        async_tasks.BEGINNING.add(store)
        try:
            async with self._storing:
                run = await writing(self._put_on_record)(store)
        finally:
            async_tasks.BEGINNING.discard(store)
        if run is None:
            return None
        if not settings.CLUSTER:
            # A request's own context ends with it, and takes the threads for its queries along.
            logs.carried().run(self.start, run)
        # Forgotten words stand in other rows, too: then all are shown anew, as after an edit.
        question = run.question.seq if run.question and not forgets(run.question) else 0
        channel.tell(hints.TurnOpened(run.conversation.pk, run.turn.pk, question))
        return run

    def _put_on_record(self, store: Store) -> TurnContext | None:
        """Put a turn on record and in the workers' queue, or among those known here, at once."""
        run = None
        try:
            with transaction.atomic():
                run = store()
                if run and settings.CLUSTER:
                    background_jobs.enqueue_turn(run.turn)
                elif run:
                    self._expected.add(run.turn.pk)
        except BaseException as error:
            if run is None:
                raise
            is_lost = isinstance(error, DatabaseError) and errors.is_unknown(error)
            try:
                # The connection may have broken after the commit: a turn on record has to run.
                if not (is_lost and Turn.objects.filter(pk=run.turn.pk).exists()):
                    raise
            except BaseException:
                self._expected.discard(run.turn.pk)
                raise
        return run

    @contextlib.contextmanager
    def expecting(self, turn: uuid.UUID) -> Iterator[None]:
        """Count a turn as running here until it does."""
        self._expected.add(turn)
        try:
            yield
        finally:
            self._expected.discard(turn)

    def __contains__(self, turn: object) -> bool:
        """Return True if a turn runs here, or soon will."""
        return turn in self.turns or turn in self._expected

    def start(self, run: TurnContext) -> TurnTask:
        """Start a turn in this process."""
        task = self.task_of(run, lambda: self._end(task))
        self.turns[run.turn.pk] = task
        if self.closing:
            # A turn that was claimed just then goes on elsewhere.
            task.leave(_STOPPED)
        self._expected.discard(run.turn.pk)
        return task

    def _end(self, task: TurnTask) -> None:
        # The turn may have been released, and taken up here again.
        if self.turns.get(task.run.turn.pk) is task:
            del self.turns[task.run.turn.pk]
        self._may_hold = True

    def find(self, conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> TurnTask | None:
        """Return the turn of this id or nonce if it runs here; without a name, the running one."""
        # A turn with a stored end may still be at work while the next one runs.
        for task in reversed(self.turns.values()):
            own = task.run.turn
            if own.conversation_id == conversation_id and turn in {None, own.pk, own.nonce}:
                return task
        return None

    def hear(self, hint: hints.Hint) -> None:
        """Carry out a hint's request to a turn that runs here."""
        match hint:
            case hints.TurnRequested(conversation, turn) if task := self.find(conversation, turn):
                if hint.kind == TurnRequest.Kind.STOP:
                    # Also if the request could not be put on record.
                    task.stop()
                else:
                    heeding = asyncio.create_task(self._try(self._heed_all))
                    self._tasks.add(heeding)
                    heeding.add_done_callback(self._tasks.discard)
            case hints.Answered(conversation) if task := self.find(conversation):
                task.wake()
            case hints.ConversationDeleted(conversation) if task := self.find(conversation):
                task.stop()

    async def _heed_all(self) -> None:
        """Carry out requests to the turns here, release lost ones, end those that can't go on."""
        tasks = {**self.turns}
        if not (tasks or self._may_hold):
            return
        self._may_hold = False
        held, asked = await reading(_read_held)()
        self._may_hold = bool(held)
        for request in await writing(TurnRequest.objects.take)(asked) if asked else ():
            if task := self.turns.get(request.turn_id):
                task.heed(request)
        for pk, task in tasks.items():
            if task.has_ended:
                # A turn that has ended may still begin a draft.
                continue
            if held.get(pk) != task.run.turn.attempt and self.turns.get(pk) is task:
                # A turn that waits for a person waits in the process it was taken to.
                task.leave("") if task.waits_since else task.stop()
            elif task.waits_since:
                # The question may have been answered in another process.
                task.wake()
        if not all(pk in self for pk in held):
            self._tell_closed(await writing(crash_recovery.close_unsaved)(self))

    async def _release(self) -> None:
        """Release turns that wait long for a person, so that their workers are free."""
        moment = time.monotonic()
        for task in [*self.turns.values()] if settings.CLUSTER else ():
            waits = task.waits_since or moment
            if moment - waits < RELEASED_AFTER:
                continue
            if await writing(lifecycle.release)(task.run.turn, task.run.requests.awaited):
                task.leave("")

    def beat(self, anybody_gone: bool) -> float:
        """Have this process check its turns; callable from any thread, at each sign of life.

        Returns the seconds for which the event loop has not come round to an earlier call.
        """
        self._gone += anybody_gone
        if self.loop is None or self.loop.is_closed():
            return 0.0
        self._asked = asked = self._asked or time.monotonic()
        # The loop may be closed just then.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._look, context=contextvars.Context())
        return time.monotonic() - asked

    async def looked(self) -> None:
        """Return once this process has finished the check of its turns."""
        await asyncio.sleep(0)
        if self._looking:
            await asyncio.wait({self._looking})

    def _look(self) -> None:
        self._asked = None
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._try(self.look_after))

    async def _try(self, look: Callable[[], Awaitable[None]]) -> None:
        try:
            await look()
        except DatabaseError as error:
            log.warning("turns could not be looked after; that is tried again: %s", error)
        except Exception:
            log.exception("turns could not be looked after; that is tried again")

    async def look_after(self) -> None:
        """Carry out requests to the turns here, and continue or close turns that others left."""
        # Turns that this takes over are known here before anybody asks for them.
        await self.clear_up()
        await self._heed_all()
        await self._release()
        self._looks += 1
        is_due = not self._looks % RECOVER_EVERY
        if (is_due or self._recovered != self._gone) and not self.closing:
            await self._recover()
        if is_due and settings.CLUSTER:
            await recovering(crash_recovery.enqueue_unclaimed)()
            await give_back_idle()

    async def _recover(self, most: int | None = crash_recovery.CLOSED_AT_ONCE) -> None:
        """Close the turns of processes that are gone, and continue those that wait."""
        gone, self._recovered = self._gone, -1
        done = await recovering(crash_recovery.recover)(most)
        self._tell_closed(done.closed)
        for run in done.taken:
            # The next process takes over the turns that this one takes too late.
            if not self.closing:
                self.start(run)
        # A round that ends early is followed by another one, which closes the rest.
        if most is None or not done.found:
            await recovering(crash_recovery.close_left)()
        if not done.found:
            self._recovered = gone

    def _tell_closed(self, conversations: Collection[uuid.UUID]) -> None:
        """Have pages in all processes show that turns were closed."""
        for conversation in conversations:
            channel.tell(hints.ConversationChanged(conversation))

    async def clear_up(self) -> None:
        """Close the turns that a crash left open, and continue those that only waited for a person.

        Done once; no turn begins here before. If it failed, the next call does it again.
        """
        channel.start()
        if self.loop is None or not self.loop.is_running():
            self.loop = asyncio.get_running_loop()
        async with self._clearing:
            if self.cleared_up:
                return
            sizes.warm_up()
            await recovering(processes.begin)()
            # Work for one process is left by all others, and closed before a user comes.
            await self._recover(crash_recovery.CLOSED_AT_ONCE if settings.CLUSTER else None)
            self.cleared_up = True

    def open(self) -> None:
        """Supervise turns from now on, even without users; needs a running loop."""
        channel.start()
        self._clearing_up = asyncio.create_task(self.try_to_clear_up())

    async def try_to_clear_up(self) -> None:
        """Recover from a crash now if that is possible; otherwise a later call does."""
        try:
            await self.clear_up()
        except (DatabaseError, OSError) as error:
            log.warning("what the last process left could not be cleared up yet: %s", error)

    async def close(self) -> None:
        """End all that runs, and wait until it is stored; let nothing begin.

        Turns come to a safe point, for which they have ``SAFE_POINT`` seconds, and are interrupted.
        Jobs have these at the same time: the process is waited for once. Writes that fail are left
        to the recovery at the next start.
        """
        self.closing, last = True, time.monotonic() + settings.SAFE_POINT
        await _within(last, self._all_begun())
        for task in self.turns.values():
            task.leave(_STOPPED)
        await _within(last, self._all_ended())
        self.stop_all()
        await _within(time.monotonic() + STORING, self._all_ended())
        # Drafts are written by jobs, which would be waited for.
        await background_drafts.drop_all(noop("The server was stopped."))
        await background_jobs.close(max(0.0, last - time.monotonic()))
        await connections().close()
        await channel.close()
        await close_clients()

    def stop_all(self) -> None:
        """Stop all turns; while the server is being closed, that ends the wait for them."""
        for task in [*self.turns.values()]:
            task.stop()

    async def _all_begun(self) -> None:
        """Wait for turns that are about to begin, so that they are ended like the rest."""
        while self._beginning:
            self._begun.clear()
            await self._begun.wait()

    async def _all_ended(self) -> None:
        await asyncio.gather(*(task.ended() for task in self.turns.values()))

    def lag(self) -> float | None:
        """Return the event loop's lag in seconds, None without one; not callable from the loop."""
        if self.loop is None or self.loop.is_closed():
            return None
        reached, asked = threading.Event(), time.monotonic()
        self.loop.call_soon_threadsafe(reached.set, context=contextvars.Context())
        reached.wait(LONGEST_LAG)
        return time.monotonic() - asked


async def _within(last: float, work: Awaitable[None]) -> None:
    """Wait for work up to a moment."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(work, max(0.0, last - time.monotonic()))


async def run_claimed(turn: str, attempt: int) -> None:
    """Run a turn that was in the queue, to its end, unless another process has taken it.

    The worker's queue calls this; ``attempt`` counts those that were made before.
    """
    pk = uuid.UUID(turn)
    with running_turns.expecting(pk):
        run = await writing(lifecycle.claim)(pk, attempt)
        task = running_turns.start(run) if run else None
    if task:
        await task.ended()


def _read_held() -> tuple[dict[uuid.UUID, int], list[TurnRequest]]:
    """Return the attempts of this process's turns, and the requests to them."""
    held = Turn.objects.held()
    return held, [*TurnRequest.objects.untaken(held)] if held else []


running_turns = RunningTurns()
channel.listeners.append(running_turns.hear)
processes.listeners.append(running_turns.beat)
