"""The front door: whatever comes in starts, stops and changes what runs through these functions."""

import functools
import uuid
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.utils import timezone

from chatapp.agent import events
from chatapp.composer.slash_commands import bring
from chatapp.context.condense_requests import CondenseRequest
from chatapp.live import incoming_frames
from chatapp.models import Conversation, message_store
from chatapp.turns import crash_recovery, message_queue, turn_retries
from chatapp.turns.active_conversation import ActiveConversation
from chatapp.turns.active_conversations import active
from chatapp.turns.condensation_turns import check_condensing, start_condensing
from chatapp.turns.ports import LiveService

front: LiveService = active


async def send_message(conversation: Conversation, command: incoming_frames.SendMessage) -> None:
    """Store the user's message and start its turn; raise Refused when it can't be.

    A message sent again after a lost connection, with the same nonce, starts nothing.
    """
    async with active.enter(conversation.pk) as room, room.starting:
        await room.send(conversation, command)


async def send_and_hear(
    conversation: Conversation, command: incoming_frames.SendMessage
) -> AsyncIterator[events.TurnEvent]:
    """Send a message as ``send_message`` does, and return all that happens until its turn ends.

    Sent again, it is heard from now on; the turn goes on when nobody hears it any more.
    """
    async with active.enter(conversation.pk) as room, room.starting:
        # What ran before it was not to be heard: from here on, nothing else begins.
        hearing = room.view.hear()
        try:
            await room.send(conversation, command)
        except BaseException:
            room.view.forget(hearing)
            raise
        if not room.running or room.running.run.turn.nonce != command.nonce:
            hearing.put_nowait(None)
    return room.view.listen(hearing)


async def change_queued(conversation: Conversation, command: incoming_frames.ChangeQueued) -> None:
    """Change or remove a message that waits; raise Refused once it does not."""
    async with active.enter(conversation.pk) as room:
        if command.text is None:
            remove = sync_to_async(message_queue.remove_queued)
            await remove(conversation=conversation, nonce=command.nonce)
        else:
            await bring(conversation, command.text, strict=not command.literal)
            change = sync_to_async(message_queue.change_queued)
            await change(conversation=conversation, nonce=command.nonce, text=command.text)
        room.show_queue()


async def send_queued(conversation: Conversation, command: incoming_frames.SendQueued) -> None:
    """Send a message that waits, once what runs is stopped; raise Refused."""
    async with active.enter(conversation.pk) as room:
        await room.send_queued(conversation, command.nonce)


async def take_up(conversation: Conversation, command: incoming_frames.TakeUp) -> None:
    """Start a turn without a new message; raise Refused when it can't be.

    A repeated nonce starts nothing.
    """
    store = functools.partial(
        turn_retries.take_up,
        conversation=conversation,
        how=command.how,
        nonce=command.nonce,
        seq=command.seq,
    )
    async with active.enter(conversation.pk) as room, room.starting:
        if await room.may_start(conversation, command.nonce):
            await room.begin(store)


async def condense_now(conversation: Conversation, wish: CondenseRequest) -> None:
    """Start a condensation by hand, where a turn runs after its step; or raise Refused.

    A repeated nonce starts nothing.
    """
    async with active.enter(conversation.pk) as room, room.starting:
        if room.running and not room.running.run.turn.condenses:
            await sync_to_async(check_condensing)(conversation, wish.scope)
        # The turn may have ended meanwhile.
        if room.running and not room.running.run.turn.condenses:
            room.running.condense_soon(wish)
        elif await room.may_start(conversation, wish.nonce):
            await room.begin(functools.partial(start_condensing, conversation, wish))


async def put_off_condensing(conversation: Conversation) -> None:
    """Have the next condensation that would begin by itself wait for one turn."""
    await sync_to_async(message_store.put_off)(conversation, True)
    async with active.enter(conversation.pk) as room:
        room.show_change()


def stop(conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> None:
    """Stop a turn, unless it has ended; without a name, whichever runs."""
    if running := active.running(conversation_id, turn):
        running.stop()


def stop_soon(conversation_id: uuid.UUID, turn: uuid.UUID) -> None:
    """Stop a turn, unless it has ended; callable from any thread, returns at once."""
    active.tell(conversation_id, lambda _room: stop(conversation_id, turn))


def cancel_condensing(conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> None:
    """Cancel the condensation that runs; a turn that only waits for it goes on."""
    if running := active.running(conversation_id, turn):
        running.cancel_condensing()


def close_left_over(conversation: Conversation) -> None:
    """End what is on record as running although nothing runs; callable from any thread.

    That is what a full disk kept from being closed.
    """
    now = timezone.now()
    room = active.rooms.get(conversation.pk)
    # What begins after this look is younger than ``now``.
    if not (room and (room.running or room.starting.locked())):
        crash_recovery.close_interrupted(conversation, started_before=now)


def announce_change(conversation_id: uuid.UUID) -> None:
    """Have all pages fetch the transcript again; callable from any thread, returns at once."""
    active.tell(conversation_id, ActiveConversation.show_change)


def announce_answer(conversation_id: uuid.UUID) -> None:
    """Have the turn that waits look at what a person answered; callable from any thread."""
    active.tell(conversation_id, ActiveConversation.wake)


def close(conversation_id: uuid.UUID) -> None:
    """Stop what runs in a conversation that was deleted, and close its pages' sockets.

    Callable from any thread; returns at once.
    """
    active.tell(conversation_id, ActiveConversation.close)


def look_again(user_pk: int) -> None:
    """Have each open page of a user's come back, if it still may; callable from any thread."""
    for conversation_id in active.rooms_of(user_pk):
        active.tell(conversation_id, lambda room: room.watchers.dismiss())


def announce_changes(user_pk: int) -> None:
    """Have all open pages of a user's show what they depend on; callable from any thread."""
    for conversation_id in active.rooms_of(user_pk):
        announce_change(conversation_id)


def announce_list(user_pk: int) -> None:
    """Have all open pages of a user's fetch their list of conversations again."""
    for conversation_id in active.rooms_of(user_pk):
        active.tell(conversation_id, lambda room: room.view.show_list())
