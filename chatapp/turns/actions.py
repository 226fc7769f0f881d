"""The front door: whatever comes in starts, stops and changes what runs through these functions."""

import functools
import uuid
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.utils import timezone

from chatapp.agent import events
from chatapp.composer.slash_commands import bring
from chatapp.condensation import draft_writer
from chatapp.context.condense_requests import CondenseRequest
from chatapp.live import incoming_frames, outgoing_frames
from chatapp.models import Conversation, message_store
from chatapp.turns import crash_recovery, message_queue, turns_without_message
from chatapp.turns.active_conversation import ActiveConversation
from chatapp.turns.active_conversations import registry
from chatapp.turns.turns_without_message import check_condensing, start_condensing

# What only shows, to pages and to whatever watches over the server.
front = registry


async def send_message(conversation: Conversation, command: incoming_frames.SendMessage) -> None:
    """Store the user's message and start its turn; raise Refused when it can't be.

    A message sent again after a lost connection, with the same nonce, starts nothing.
    """
    async with registry.enter(conversation.pk) as active, active.start_lock:
        await active.send(conversation, command)


async def send_and_hear(
    conversation: Conversation, command: incoming_frames.SendMessage
) -> AsyncIterator[events.TurnEvent]:
    """Send a message as ``send_message`` does, and return all that happens until its turn ends.

    Sent again, it is heard from now on; the turn goes on when nobody hears it any more.
    """
    async with registry.enter(conversation.pk) as active, active.start_lock:
        # What ran before it was not to be heard: from here on, nothing else begins.
        hearing = active.view.hear()
        try:
            await active.send(conversation, command)
        except BaseException:
            active.view.forget(hearing)
            raise
        if not active.running or active.running.run.turn.nonce != command.nonce:
            hearing.put_nowait(None)
    return active.view.listen(hearing)


async def change_queued(conversation: Conversation, command: incoming_frames.ChangeQueued) -> None:
    """Change or remove a message that waits; raise Refused once it does not."""
    async with registry.enter(conversation.pk) as active:
        if command.text is None:
            remove = sync_to_async(message_queue.remove_queued)
            await remove(conversation=conversation, nonce=command.nonce)
        else:
            await bring(conversation, command.text, strict=not command.literal)
            change = sync_to_async(message_queue.change_queued)
            await change(conversation=conversation, nonce=command.nonce, text=command.text)
        active.show_queue()


async def send_queued(conversation: Conversation, command: incoming_frames.SendQueued) -> None:
    """Send a message that waits, once what runs is stopped; raise Refused."""
    async with registry.enter(conversation.pk) as active:
        await active.send_queued(conversation, command.nonce)


async def take_up(conversation: Conversation, command: incoming_frames.TakeUp) -> None:
    """Start a turn without a new message; raise Refused when it can't be.

    A repeated nonce starts nothing.
    """
    store = functools.partial(
        turns_without_message.take_up,
        conversation=conversation,
        how=command.how,
        nonce=command.nonce,
        seq=command.seq,
    )
    async with registry.enter(conversation.pk) as active, active.start_lock:
        if await active.prepare_start(conversation, command.nonce):
            await active.begin(store)


async def condense_now(conversation: Conversation, wish: CondenseRequest) -> None:
    """Start a condensation by hand, where a turn runs after its step; or raise Refused.

    A repeated nonce starts nothing.
    """
    async with registry.enter(conversation.pk) as active, active.start_lock:
        if active.running and not active.running.run.turn.condenses:
            await sync_to_async(check_condensing)(conversation, wish.scope)
        # The turn may have ended meanwhile.
        if active.running and not active.running.run.turn.condenses:
            active.running.condense_soon(wish)
        elif await active.prepare_start(conversation, wish.nonce):
            await active.begin(functools.partial(start_condensing, conversation, wish))


async def put_off_condensing(conversation: Conversation) -> None:
    """Have the next condensation that would begin by itself wait for one turn."""
    await sync_to_async(message_store.put_off)(conversation, True)
    async with registry.enter(conversation.pk) as active:
        active.show_change()


def stop(conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> None:
    """Stop a turn, unless it has ended; without a name, whichever runs."""
    if running := registry.running(conversation_id, turn):
        running.stop()


def stop_soon(conversation_id: uuid.UUID, turn: uuid.UUID) -> None:
    """Stop a turn, unless it has ended; callable from any thread, returns at once."""
    registry.tell(conversation_id, lambda _active: stop(conversation_id, turn))


def cancel_condensing(conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> None:
    """Cancel the condensation that runs; a turn that only waits for it goes on."""
    if running := registry.running(conversation_id, turn):
        running.cancel_condensing()


def close_left_over(conversation: Conversation) -> None:
    """End what is on record as running although nothing runs; callable from any thread.

    That is what a full disk kept from being closed.
    """
    now = timezone.now()
    active = registry.conversations.get(conversation.pk)
    # What begins after this look is younger than ``now``.
    if not (active and (active.running or active.start_lock.locked())):
        crash_recovery.close_interrupted(conversation, started_before=now)


def announce_change(conversation_id: uuid.UUID) -> None:
    """Have all pages fetch the transcript again; callable from any thread, returns at once."""
    registry.tell(conversation_id, ActiveConversation.show_change)


async def write_draft(conversation: str) -> None:
    """Have a draft written, and the line at the composer say so then: a background job."""
    conversation_id = uuid.UUID(conversation)
    await draft_writer.write_draft(conversation_id)
    registry.tell(conversation_id, lambda active: active.start_task(active.view.show_panel()))


def announce_answer(conversation_id: uuid.UUID) -> None:
    """Have the turn that waits look at what a person answered; callable from any thread."""
    registry.tell(conversation_id, ActiveConversation.wake)


def close_deleted(conversation_id: uuid.UUID) -> None:
    """Stop what runs in a conversation that was deleted, and close its pages' sockets.

    Callable from any thread; returns at once.
    """
    registry.tell(conversation_id, ActiveConversation.close_deleted)


def look_again(user_pk: int) -> None:
    """Have each open page of a user's come back, if it still may; callable from any thread."""
    for conversation_id in registry.conversations_of(user_pk):
        registry.tell(conversation_id, lambda active: active.watchers.dismiss())


def announce_changes(user_pk: int) -> None:
    """Have all open pages of a user's show what they depend on; callable from any thread."""
    for conversation_id in registry.conversations_of(user_pk):
        announce_change(conversation_id)


def announce_list(user_pk: int) -> None:
    """Have all open pages of a user's fetch their list of conversations again."""
    for conversation_id in registry.conversations_of(user_pk):
        registry.tell(conversation_id, lambda active: active.view.show_list())


def announce_title(conversation: Conversation) -> None:
    """Have all open pages of its owner's show a conversation's new title."""
    announce_list(conversation.owner_id)
    frame = outgoing_frames.title_changed()
    registry.tell(conversation.pk, lambda active: active.watchers.send(frame))
