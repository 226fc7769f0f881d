"""An active conversation: somebody watches it, or something runs in it."""

import asyncio
import contextlib
import dataclasses
import functools
import logging
import uuid
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Self

from asgiref.sync import sync_to_async
from django.utils.translation import gettext as _

from chatapp.agent.async_tasks import finish
from chatapp.composer.slash_commands import bring
from chatapp.condensation import background_drafts
from chatapp.context.turn_context import TurnContext
from chatapp.live.incoming_frames import SendMessage
from chatapp.live.live_view import LiveView
from chatapp.models import Conversation
from chatapp.models.database import reading
from chatapp.turns import crash_recovery, follow_ups, lifecycle, message_queue
from chatapp.turns.runner import TurnTask

if TYPE_CHECKING:
    from chatapp.turns.active_conversations import ActiveConversations

log = logging.getLogger(__name__)


class ActiveConversation:
    """One conversation while somebody watches it or something runs in it."""

    def __init__(self, conversation_id: uuid.UUID, registry: "ActiveConversations") -> None:
        self.conversation_id = conversation_id
        self.registry = registry
        self.view = LiveView(conversation_id, on_wait=self._tell_others)
        self.watchers = self.view.watchers
        self.running: TurnTask | None = None
        # Held from the check that no turn runs until one does.
        self.start_lock = asyncio.Lock()
        # The time zone of whoever sent the last message.
        self.zone = ""
        # Of the queued message to send next, even after a failed turn; None for the usual one.
        self.next_nonce: uuid.UUID | None = None
        # Waits until the provider's cache is about to expire.
        self.idle_task: asyncio.Task[None] | None = None
        # How many pages and requests use this object now.
        self._holders = 0
        self._changes: set[asyncio.Task[None]] = set()

    def close_idle(self) -> None:
        """Have the process forget the conversation, if nobody watches and nothing runs."""
        held = self._holders or self._changes or self.idle_task or self.running
        is_idle = not (held or self.watchers.count or self.start_lock.locked())
        if is_idle and self.registry.conversations.get(self.conversation_id) is self:
            del self.registry.conversations[self.conversation_id]

    @contextlib.contextmanager
    def held(self) -> Iterator[Self]:
        """Keep the conversation active meanwhile."""
        self._holders += 1
        try:
            yield self
        finally:
            self._holders -= 1
            self.close_idle()

    async def send(self, conversation: Conversation, command: SendMessage) -> None:
        """Store a message and start its turn, or put it into the queue; raise Refused.

        Who calls this holds ``start_lock``. A message that was sent before starts nothing.
        """
        self.zone = command.zone
        if command.queued and await self._queue_if_busy(conversation, command):
            return
        if await self.prepare_start(conversation, command.nonce):
            brought = await bring(conversation, command.text, strict=not command.literal)
            store = functools.partial(message_queue.start_message, conversation, command, brought)
            await self.begin(store)

    async def _queue_if_busy(self, conversation: Conversation, command: SendMessage) -> bool:
        """Queue the message while a turn runs; return True where it is in the queue, or was."""
        if await reading(message_queue.was_queued)(conversation, command.nonce):
            return True
        if not self.running or await self._is_known(conversation, command.nonce):
            return False
        # An unclear command is refused now, while its sender is there.
        await bring(conversation, command.text, strict=not command.literal)
        await sync_to_async(message_queue.queue_message)(
            conversation=conversation,
            text=command.text,
            nonce=command.nonce,
            attachments=command.attachments,
        )
        self.show_queue()
        return True

    async def prepare_start(self, conversation: Conversation, nonce: uuid.UUID) -> bool:
        """Close what was left open; False for a known nonce; raise Refused while a turn runs."""
        while running := self.running:
            if await self._is_known(conversation, nonce):
                return False
            # It may have ended meanwhile.
            if self.running is running:
                raise lifecycle.busy_with(running.run.turn)
        # A turn that a full disk kept from being closed would block every later one.
        if await reading(lifecycle.has_unfinished)(conversation.pk):
            await sync_to_async(crash_recovery.close_interrupted)(conversation)
        return True

    async def _is_known(self, conversation: Conversation, nonce: uuid.UUID) -> bool:
        return await reading(lifecycle.is_known)(conversation.pk, nonce)

    async def begin(self, store: Callable[[], TurnContext | None]) -> TurnContext | None:
        """Begin the turn that ``store`` puts on record, and return it; None where it does not.

        Who calls this holds ``start_lock``, and nothing runs.
        """
        # What is on record has to run, whether or not somebody still waits for it.
        return await finish(self._begin(store))

    async def _begin(self, store: Callable[[], TurnContext | None]) -> TurnContext | None:
        run = await sync_to_async(store)()
        if run:
            self.start(run)
            if not (run.question or run.turn.condenses):
                # An edit or a retry may have set messages aside.
                self.show_change()
        return run

    def start(self, run: TurnContext) -> None:
        """Let a run begin here."""
        self.cancel_idle_task()
        run = dataclasses.replace(run, zone=self.zone)
        self.running = self.registry.runner(run, self.view, functools.partial(self._vacate, run))

    def _vacate(self, run: TurnContext, succeeded: bool) -> None:
        """Start what follows a turn: a condensation or the queue, a title, the wait while idle."""
        self.running = None
        if wish := run.wishes.take():
            self.start_task(follow_ups.condense(self, run.conversation, wish, succeeded))
        else:
            self.send_next(run.conversation, succeeded)
        if succeeded and not self.registry.closing:
            if run.asks_title:
                self.start_task(follow_ups.name(self, run))
            if run.condenses_idle and not run.turn.condenses:
                self.idle_task = asyncio.create_task(follow_ups.condense_idle(self))
                self.idle_task.add_done_callback(lambda _task: self.close_idle())
        self.close_idle()

    def cancel_idle_task(self) -> None:
        """Stop waiting for the moment to condense while idle."""
        if self.idle_task:
            self.idle_task.cancel()
            self.idle_task = None

    def send_next(self, conversation: Conversation, succeeded: bool) -> None:
        """Send the message asked for next or, after a success, the oldest in the queue."""
        nonce, self.next_nonce = self.next_nonce, None
        # Who holds the lock may be about to queue a message, having seen a turn run.
        may_wait = self.view.queue.may_wait or self.start_lock.locked()
        if nonce or (succeeded and may_wait):
            work = functools.partial(self.send_queued, conversation, nonce)
            self.start_task(follow_ups.until_stored(self, work))

    async def send_queued(self, conversation: Conversation, nonce: uuid.UUID | None = None) -> None:
        """Send a message that waits, the next one unless named; what runs is stopped first."""
        async with self.start_lock:
            row = await reading(message_queue.find_queued)(conversation, nonce)
            if self.running:
                # Without a row it was sent already, and may be what runs.
                if nonce and row:
                    self.next_nonce = nonce
                    self.running.stop()
                return
            run = None
            if row:
                brought = await bring(conversation, row.text, strict=False)
                store = functools.partial(
                    message_queue.start_queued, conversation, nonce, brought, self.zone
                )
                run = await self.begin(store)
        if run or nonce:
            await self.view.show_queue()

    def show_queue(self) -> None:
        """Show all watchers the messages that wait, which have changed."""
        self.view.queue.note_change()
        self.start_task(self.view.show_queue())

    def show_change(self) -> None:
        """Have all watchers fetch the transcript and the panel again."""
        self.start_task(self._show_change())

    async def _show_change(self) -> None:
        try:
            # A draft that the change made useless is dropped before it costs more.
            await background_drafts.check(self.conversation_id)
        finally:
            await self.view.show_change()

    def close_deleted(self) -> None:
        """Stop the turn, drop the draft and disconnect all pages: the conversation was deleted."""
        if self.running:
            self.running.stop()
        self.cancel_idle_task()
        reason = _("The conversation was deleted.")
        self.start_task(background_drafts.drop(self.conversation_id, reason))
        self.watchers.dismiss()

    def wake(self) -> None:
        """Have what runs look at what a person answered."""
        if self.running:
            self.running.wake()

    def _tell_others(self) -> None:
        """Have the owner's pages of other conversations say in their list what this one does."""
        if running := self.running:
            self.start_task(self.registry.show_list(running.run.conversation.owner_id, but=self))

    def start_task(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` as a task beside the turns, which keeps the conversation active."""
        task = asyncio.create_task(work)
        self._changes.add(task)
        task.add_done_callback(self._settle)

    def _settle(self, task: asyncio.Task[None]) -> None:
        self._changes.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("something could not be done beside the turns", exc_info=error)
        self.close_idle()
