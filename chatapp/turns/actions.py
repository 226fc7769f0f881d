"""Starts turns and condensations, stops them, and goes between requests and what runs."""

import asyncio
import contextvars
import functools
import uuid
from collections.abc import AsyncIterator, Callable, Iterable

from asgiref.sync import sync_to_async
from django.db import transaction
from django.utils import timezone

import condense
from chatapp.agent import events
from chatapp.composer import attachments
from chatapp.composer.slash_commands import bring
from chatapp.context import sizes
from chatapp.context.condense_requests import CondenseRequest
from chatapp.context.environment_details import describe_surroundings
from chatapp.context.turn_context import TurnContext, read_run
from chatapp.conversations import conversations
from chatapp.live import incoming_frames
from chatapp.live.live_view import Hearing
from chatapp.models import Conversation, message_store
from chatapp.models.database import reading
from chatapp.turns import lifecycle, message_queue, turn_retries
from chatapp.turns.active_conversation import ActiveConversation
from chatapp.turns.active_conversations import active
from chatapp.turns.condensation_turns import check_condensing
from chatapp.turns.ports import LiveService, RunningTurn

front: LiveService = active


async def send_message(conversation: Conversation, command: incoming_frames.SendMessage) -> None:
    """Store the user's message and start its turn; raise Refused when it can't be.

    A message sent again after a lost connection, with the same nonce, starts nothing.
    """
    async with active.enter(conversation.pk) as room, room.starting:
        await _send(room, conversation, command)


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
            await _send(room, conversation, command)
        except BaseException:
            room.view.forget(hearing)
            raise
        if not room.running or room.running.run.turn.nonce != command.nonce:
            hearing.put_nowait(None)
    return _listen(room, hearing)


async def _send(
    room: ActiveConversation, conversation: Conversation, command: incoming_frames.SendMessage
) -> None:
    """Store a message and start its turn, or put it into the queue."""
    conversations.check_message(command.text, alone=not (command.attachments or command.replaces))
    room.zone = command.zone
    if command.queued and await _waits(room, conversation, command):
        return
    if not await _may_start(room, conversation, command.nonce):
        return
    brought = await bring(conversation, command.text, strict=not command.literal)
    tokens = await asyncio.to_thread(sizes.COUNTER.count, command.text)
    start = functools.partial(_start_turn, conversation, command, tokens, brought)
    await room.begin(start, anew=command.replaces is not None)


async def _listen(room: ActiveConversation, hearing: Hearing) -> AsyncIterator[events.TurnEvent]:
    try:
        while (event := await hearing.get()) is not None:
            yield event
    finally:
        room.view.forget(hearing)


async def _waits(
    room: ActiveConversation, conversation: Conversation, command: incoming_frames.SendMessage
) -> bool:
    """Whether a message is in the queue, or was: it is put there while something runs."""
    if await reading(message_queue.was_queued)(conversation, command.nonce):
        return True
    if not room.running or await reading(lifecycle.is_known)(conversation, command.nonce):
        return False
    # What is not understood is said now, while somebody looks.
    await bring(conversation, command.text, strict=not command.literal)
    await sync_to_async(message_queue.queue_message)(
        conversation=conversation,
        text=command.text,
        nonce=command.nonce,
        attachments=command.attachments,
    )
    room.show_queue()
    return True


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


@transaction.atomic
def _start_turn(
    conversation: Conversation,
    command: incoming_frames.SendMessage,
    tokens: int,
    brought: attachments.Brought,
) -> tuple[TurnContext, condense.Message] | None:
    started = lifecycle.start_turn(
        conversation=conversation,
        text=command.text,
        tokens=tokens,
        nonce=command.nonce,
        replaces=command.replaces,
        drops=command.drops,
        attachments=command.attachments,
        brought=brought,
        surroundings=describe_surroundings(conversation, command.zone),
    )
    if started is None:
        return None
    turn, message = started
    return read_run(conversation, turn=turn), message


async def take_up(conversation: Conversation, command: incoming_frames.TakeUp) -> None:
    """Start a turn without a new message; raise Refused when it can't be.

    A repeated nonce starts nothing.
    """
    async with active.enter(conversation.pk) as room:
        async with room.starting:
            if not await _may_start(room, conversation, command.nonce):
                return
            if not await room.open(functools.partial(_take_up, conversation, command)):
                return
        await room.view.show_change()


@transaction.atomic
def _take_up(conversation: Conversation, command: incoming_frames.TakeUp) -> TurnContext | None:
    turn = turn_retries.take_up(
        conversation=conversation, how=command.how, nonce=command.nonce, seq=command.seq
    )
    return read_run(conversation, turn=turn) if turn else None


async def _may_start(
    room: ActiveConversation, conversation: Conversation, nonce: uuid.UUID
) -> bool:
    """Whether a turn may start now; raise Refused while another one runs."""
    while running := room.running:
        if await reading(lifecycle.is_known)(conversation, nonce):
            return False
        # It may have ended meanwhile.
        if room.running is running:
            raise lifecycle.busy_with(running.run.turn)
    # What a full disk kept from being closed would be in the way for ever.
    if await reading(lifecycle.has_unfinished)(conversation):
        await sync_to_async(lifecycle.close_interrupted)(conversation)
    return True


async def condense_now(
    conversation: Conversation, command: incoming_frames.StartCondensing
) -> None:
    """Start a condensation by hand, where a turn runs after its step; or raise Refused.

    A repeated nonce starts nothing.
    """
    wish = CondenseRequest(command.nonce, command.focus, command.review, command.scope)
    async with active.enter(conversation.pk) as room, room.starting:
        if room.running and not room.running.run.turn.condenses:
            await sync_to_async(check_condensing)(conversation, wish.scope)
            # Unless the turn has ended meanwhile.
            if room.condense_soon(wish):
                return
        if await _may_start(room, conversation, command.nonce):
            await room.condense(conversation, wish)


async def put_off_condensing(conversation: Conversation) -> None:
    """Have the next condensation that would begin by itself wait for one turn."""
    await sync_to_async(message_store.put_off)(conversation, True)
    async with active.enter(conversation.pk) as room:
        room.show_change()


def stop(conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> None:
    """Stop a turn, unless it has ended; without a name, whichever runs."""
    if running := _running(conversation_id, turn):
        running.stop()


def stop_soon(conversation_id: uuid.UUID, turn: uuid.UUID) -> None:
    """Stop a turn, unless it has ended; callable from any thread, returns at once."""
    _tell(conversation_id, lambda _room: stop(conversation_id, turn))


def cancel_condensing(conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> None:
    """Cancel the condensation that runs; a turn that only waits for it goes on."""
    if running := _running(conversation_id, turn):
        running.cancel_condensing()


def _running(conversation_id: uuid.UUID, turn: uuid.UUID | None) -> RunningTurn | None:
    room = active.rooms.get(conversation_id)
    running = room.running if room else None
    return (
        running if running and turn in {None, running.run.turn.pk, running.run.turn.nonce} else None
    )


def close_left_over(conversation: Conversation) -> None:
    """End what is on record as running although nothing runs; callable from any thread.

    That is what a full disk kept from being closed.
    """
    now = timezone.now()
    room = active.rooms.get(conversation.pk)
    # What begins after this look is younger than ``now``.
    if not (room and room.busy):
        lifecycle.close_interrupted(conversation, started_before=now)


def announce_change(conversation_id: uuid.UUID) -> None:
    """Have all pages fetch the transcript again; callable from any thread, returns at once."""
    _tell(conversation_id, ActiveConversation.show_change)


def announce_answer(conversation_id: uuid.UUID) -> None:
    """Have the turn that waits look at what a person answered; callable from any thread."""
    _tell(conversation_id, ActiveConversation.wake)


def close(conversation_id: uuid.UUID) -> None:
    """Stop what runs in a conversation that was deleted, and close its pages' sockets.

    Callable from any thread; returns at once.
    """
    _tell(conversation_id, ActiveConversation.close)


def look_again(user_pk: int) -> None:
    """Have each open page of a user's come back, if it still may; callable from any thread."""
    for conversation_id in _watched(user_pk):
        _tell(conversation_id, ActiveConversation.dismiss)


def announce_changes(user_pk: int) -> None:
    """Have all open pages of a user's show what they depend on; callable from any thread."""
    for conversation_id in _watched(user_pk):
        announce_change(conversation_id)


def announce_list(user_pk: int) -> None:
    """Have all open pages of a user's fetch their list of conversations again."""
    for conversation_id in _watched(user_pk):
        _tell(conversation_id, ActiveConversation.show_list)


def _watched(user_pk: int) -> Iterable[uuid.UUID]:
    watched = Conversation.objects.filter(owner=user_pk, pk__in=[*active.rooms])
    return watched.values_list("pk", flat=True)


def _tell(conversation_id: uuid.UUID, what: Callable[[ActiveConversation], None]) -> None:
    room = active.rooms.get(conversation_id)
    if room and active.loop:
        # A request's own context ends with it, and takes the threads for its queries along.
        active.loop.call_soon_threadsafe(what, room, context=contextvars.Context())
