"""An active conversation: somebody watches it, or something runs in it."""

import asyncio
import contextlib
import functools
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import OperationalError
from django.utils.translation import gettext as _

import condense
from chatapp import errors
from chatapp.agent import events
from chatapp.agent.async_tasks import finish
from chatapp.composer.slash_commands import bring
from chatapp.condensation import background_drafts
from chatapp.context.condense_requests import CondenseRequest
from chatapp.context.turn_context import TurnContext
from chatapp.live import outgoing_frames
from chatapp.live.live_view import LiveView
from chatapp.live.status_panel import Notice
from chatapp.live.watchers import Watchers
from chatapp.models import Conversation
from chatapp.models.database import reading
from chatapp.turns import message_queue
from chatapp.turns.condensation_turns import start_condensing, start_idle
from chatapp.turns.ports import RunningTurn
from chatapp.turns.titles import name_conversation

if TYPE_CHECKING:
    from chatapp.turns.active_conversations import ActiveConversations

log = logging.getLogger(__name__)

# Seconds before what follows a turn is tried again, where the database could not take it.
AGAIN = 5.0

Start = Callable[[], tuple[TurnContext, condense.Message] | None]


class ActiveConversation:
    """One conversation while somebody watches it or something runs in it."""

    def __init__(self, conversation_id: uuid.UUID, process: "ActiveConversations") -> None:
        """Begin with no watcher and nothing that runs."""
        self.conversation_id = conversation_id
        self.process = process
        self.watchers = Watchers()
        self.view = LiveView(conversation_id, self.watchers, on_wait=self._tell_others)
        self.running: RunningTurn | None = None
        # Held from the check that nothing runs until something does.
        self.starting = asyncio.Lock()
        # The time zone of whoever said something here last.
        self.zone = ""
        # How many are about to do something here.
        self._holders = 0
        self._changes: set[asyncio.Task[None]] = set()
        # The queued message that goes next, whatever becomes of what runs.
        self._wanted: uuid.UUID | None = None
        # Waits until the provider's cache is about to expire.
        self._resting: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Whether nobody watches and nothing runs."""
        held = self._holders or self._changes or self._resting
        return not (self.watchers.present or self.busy or held)

    @property
    def busy(self) -> bool:
        """Whether something runs or is about to."""
        return bool(self.running) or self.starting.locked()

    @contextlib.contextmanager
    def held(self) -> Iterator[Self]:
        """Keep the conversation active meanwhile."""
        self._holders += 1
        try:
            yield self
        finally:
            self._holders -= 1
            self.process.close_idle(self)

    async def watch(self, since: outgoing_frames.Place | None) -> AsyncIterator[str]:
        """Yield what a page lacks that has everything up to ``since``, then every frame.

        Ends when the watcher falls too far behind.
        """
        with self.held():
            watching = self.watchers.watch(self.view.snapshot, since)
            async with contextlib.aclosing(watching) as texts:
                async for text in texts:
                    yield text

    def start(self, run: TurnContext) -> None:
        """Let a run begin here."""
        self.stir()
        self.running = self.process.runner.start(
            run, self.view, functools.partial(self._vacate, run)
        )
        self.process.start_heartbeat()

    async def begin(self, start: Start, *, anew: bool = False) -> bool:
        """Begin the turn that ``start`` stores and show its message; False where it stores none.

        Who calls this holds ``starting``. What is said ``anew`` takes the place of something.
        """
        # What is on record has to run, whether or not somebody still waits for it.
        return await finish(self._begin(start, anew=anew))

    async def _begin(self, start: Start, *, anew: bool) -> bool:
        started = await sync_to_async(start)()
        if started is None:
            return False
        run, message = started
        self.start(run)
        if anew:
            await self.view.show_change()
        else:
            self.view.publish(events.MessageAppended(message))
        return True

    def _vacate(self, run: TurnContext, succeeded: bool) -> None:
        self.running = None
        if wish := run.wishes.take():
            self._soon(self._condense_now(run.conversation, wish, succeeded))
        else:
            self._send_next(run.conversation, succeeded)
        if succeeded and not self.process.closing:
            if run.asks_title:
                self._soon(self._name(run))
            if run.condenses_idle and not run.turn.condenses:
                self._resting = asyncio.create_task(self._condense_idle())
                self._resting.add_done_callback(lambda _task: self.process.close_idle(self))
        if background_drafts.is_being_written(self.conversation_id):
            self._soon(self._show_draft())
        self.process.close_idle(self)

    async def _condense_idle(self) -> None:
        """Condense if nothing is said for long."""
        await asyncio.sleep(settings.CONDENSE_IDLE_AFTER)
        async with self.starting:
            self._resting = None
            if self.running or self.process.closing:
                return
            try:
                await self.open(functools.partial(start_idle, self.conversation_id))
            except errors.Refused as reason:
                log.info("nothing was condensed while idle: %s", reason)
            except Exception:
                log.exception("nothing could be condensed while idle")

    async def _show_draft(self) -> None:
        """Have the line at the composer say so as soon as a draft is written."""
        await background_drafts.settled(self.conversation_id)
        await self.view.show_panel()

    def stir(self) -> None:
        """Stop waiting for the moment to condense while idle."""
        if self._resting:
            self._resting.cancel()
            self._resting = None

    def _send_next(self, conversation: Conversation, succeeded: bool) -> None:
        wanted, self._wanted = self._wanted, None
        # Whoever is about to begin something may put it into the queue, since this ran.
        may_wait = self.view.waiting.may_wait or self.starting.locked()
        if (succeeded and may_wait) or wanted:
            work = functools.partial(self.send_queued, conversation, wanted)
            self._soon(self._until_stored(work))

    def condense_soon(self, wish: CondenseRequest) -> bool:
        """Condense after the step of the turn that runs, unless it condenses; False without one."""
        if self.running and not self.running.run.turn.condenses:
            self.running.condense_soon(wish)
        return bool(self.running)

    async def open(self, store: Callable[[], TurnContext | None]) -> TurnContext | None:
        """Begin the turn that ``store`` puts on record, and return it; None where it does not.

        Who calls this holds ``starting``, and nothing runs.
        """
        # As in ``begin``.
        return await finish(self._open(store))

    async def _open(self, store: Callable[[], TurnContext | None]) -> TurnContext | None:
        run = await sync_to_async(store)()
        if run:
            self.start(run)
        return run

    async def condense(self, conversation: Conversation, wish: CondenseRequest) -> None:
        """Begin a condensation by hand; who calls this holds ``starting``, and nothing runs."""
        await self.open(functools.partial(start_condensing, conversation, wish))

    async def _condense_now(
        self, conversation: Conversation, wish: CondenseRequest, succeeded: bool
    ) -> None:
        """Condense after a turn during which that was asked for; then what waits goes on."""

        async def condense() -> None:
            async with self.starting:
                if not self.condense_soon(wish):
                    await self.condense(conversation, wish)

        await self._until_stored(condense)
        if not self.running:
            self._send_next(conversation, succeeded)

    async def _until_stored(self, begin: Callable[[], Awaitable[None]]) -> None:
        """Begin what follows a turn, unless it is refused; try again while it can't be stored."""
        failed = False
        while not self.process.closing:
            try:
                await begin()
                break
            except errors.Refused as reason:
                log.info("nothing follows a turn: %s", reason)
                break
            except OperationalError as error:
                log.warning("what follows a turn could not be stored yet: %s", error)
            failed = True
            words, until = _("The server could not save what comes next."), time.time() + AGAIN
            await self.view.show_notice(Notice("retry", words, until=until))
            await asyncio.sleep(AGAIN)
        if failed:
            await self.view.show_notice(None)

    async def _name(self, run: TurnContext) -> None:
        """Show everybody the name that a conversation has got after its first answer."""
        if await name_conversation(run):
            self.watchers.send(outgoing_frames.title_changed())
            await _tell_list(run.conversation.owner_id, self)

    async def send_queued(self, conversation: Conversation, nonce: uuid.UUID | None = None) -> None:
        """Send a message that waits, the next one unless named; what runs is stopped first."""
        async with self.starting:
            row = await reading(message_queue.find_queued)(conversation, nonce)
            if self.running:
                # Asked for twice, it may be what runs by now.
                if nonce and row:
                    self._wanted = nonce
                    self.running.stop()
                return
            sent = False
            if row:
                brought = await bring(conversation, row.text, strict=False)
                start = functools.partial(
                    message_queue.start_queued, conversation, nonce, brought, self.zone
                )
                sent = await self.begin(start)
        if sent or nonce:
            await self.view.show_queue()

    def show_list(self) -> None:
        """Have all watchers fetch their list of conversations again."""
        self.watchers.send(outgoing_frames.list_changed())

    def show_queue(self) -> None:
        """Show all watchers the messages that wait, which have changed."""
        self.view.waiting.note_change()
        self._soon(self.view.show_queue())

    def close(self) -> None:
        """Stop what runs, and send everybody away."""
        if self.running:
            self.running.stop()
        self.stir()
        self._soon(background_drafts.drop(self.conversation_id, _("The conversation was deleted.")))
        self.dismiss()

    def wake(self) -> None:
        """Have what runs look at what a person answered."""
        if self.running:
            self.running.wake()

    def _tell_others(self) -> None:
        """Have the owner's pages of other conversations say in their list what this one does."""
        if self.running:
            self._soon(_tell_list(self.running.run.conversation.owner_id, self))

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._changes.add(task)
        task.add_done_callback(self._settle)

    def _settle(self, task: asyncio.Task[None]) -> None:
        self._changes.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("something could not be done beside the turns", exc_info=error)
        self.process.close_idle(self)

    def dismiss(self) -> None:
        """Send everybody away; whoever still may watch comes back."""
        self.watchers.dismiss()

    def show_change(self) -> None:
        """Have all watchers fetch the transcript and the panel again."""
        self._soon(self._show_change())

    async def _show_change(self) -> None:
        try:
            # What it makes useless costs nothing more.
            await background_drafts.check(self.conversation_id)
        finally:
            await self.view.show_change()


async def _tell_list(owner_id: int, but: ActiveConversation) -> None:
    """Have a user's pages, ``but`` those of one conversation, fetch their list again."""
    for conversation_id in await reading(_owned)(owner_id, [*but.process.rooms]):
        room = but.process.rooms.get(conversation_id)
        if room and room is not but:
            room.watchers.send(outgoing_frames.list_changed())


def _owned(owner_id: int, among: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    own = Conversation.objects.filter(owner=owner_id, pk__in=among)
    return list(own.values_list("pk", flat=True))
