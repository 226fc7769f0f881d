"""Actions on turns: every request that starts, stops or changes one uses these functions.

A request is stored first, and published then: a turn may run in another process.
"""

import logging
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from django.db import DatabaseError
from django.db.models import QuerySet
from django.utils import timezone

import condense
from chatapp.agent import events
from chatapp.conversations.composer.slash_commands import built_in, expand
from chatapp.conversations.context.condense_requests import CondenseRequest
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.models import BackgroundDraft, Conversation, Question, Turn, TurnRequest, message_store
from chatapp.models.database import reading, writing
from chatapp.models.errors import Busy, Refused, TooManyTurns, Unclear
from chatapp.operations.background_jobs import enqueue
from chatapp.page.live import hints, incoming_frames, outgoing_frames
from chatapp.page.live.channel import channel
from chatapp.page.live.live_views import views
from chatapp.project.sentences import translate as _
from chatapp.storage import approvals
from chatapp.turns import crash_recovery, follow_ups, message_queue, turns_without_message
from chatapp.turns.lifecycle import stop_unclaimed
from chatapp.turns.running_turns import Store, running_turns
from chatapp.turns.turns_with_message import start_message
from chatapp.turns.turns_without_message import check_condensing, start_condensing

log = logging.getLogger(__name__)


async def watch(
    conversation: Conversation, since: outgoing_frames.PageProgress | None
) -> AsyncIterator[str]:
    """Return the frames that a page lacks which has everything up to ``since``, then all."""
    await running_turns.try_to_clear_up()
    return views.watch(conversation, since)


async def send_message(
    conversation: Conversation, command: incoming_frames.SendMessage
) -> TurnContext | None:
    """Store the user's message and start its turn; raise Refused when it can't be.

    Returns the run; None if the message waits in the queue, or was sent before with the same nonce,
    as after a lost connection.
    """
    try:
        return await _send(conversation, command)
    except (Busy, Unclear) as refusal:
        # It can wait for the running turn, and for others to end; an unclear one may be known.
        beyond = isinstance(refusal, TooManyTurns)
        if command.queued and await _queue(conversation, command, for_others=beyond):
            return None
        if beyond or not (command.queued and isinstance(refusal, Busy)):
            raise
    # The turn that ran has ended meanwhile.
    return await _send(conversation, command)


async def _send(
    conversation: Conversation, command: incoming_frames.SendMessage
) -> TurnContext | None:
    strict, replaces = not command.literal, command.replaces
    expanded = await expand(conversation, command.text, strict=strict, replaces=replaces)
    return await _begin(conversation, partial(start_message, conversation, command, expanded))


async def _queue(
    conversation: Conversation, command: incoming_frames.SendMessage, *, for_others: bool = False
) -> bool:
    """Queue the message while a turn runs; return True if it is queued, or was sent before."""
    state = await reading(message_queue.state_of)(conversation, command.nonce)
    if state == "known" or (state == "idle" and not for_others):
        return state == "known"
    # An unclear command is refused now, while its sender is there.
    await expand(conversation, command.text, strict=not command.literal)
    if await writing(close_left_over)(conversation):
        return False
    queue = partial(message_queue.queue_message, for_others=for_others)
    queued = await writing(queue)(conversation, command)
    if queued:
        channel.tell(hints.QueueChanged(conversation.pk))
    if queued and state == "going on":
        with suppress(Busy):
            await follow_ups.send_next(conversation, is_done=True)
    return queued


async def _begin(conversation: Conversation, store: Store) -> TurnContext | None:
    """Begin a turn, after closing one that a full disk left open."""
    try:
        return await running_turns.begin(store)
    except Busy:
        if not await writing(close_left_over)(conversation):
            raise
    return await running_turns.begin(store)


async def send_and_hear(
    conversation: Conversation, command: incoming_frames.SendMessage
) -> AsyncIterator[events.TurnEvent]:
    """Send a message, or carry out "/condense", and return all that happens until its turn ends.

    A repeated request follows the same turn, which goes on without followers.
    """
    name, focus = ("", "") if command.literal else built_in(command.text)
    if not name:
        run = await send_message(conversation, command)
    elif name != "condense":
        raise Refused(_("/{name} works on the page only. See /api/docs.", name=name))
    else:
        request = CondenseRequest(command.nonce, focus)
        run = await _begin(conversation, partial(start_condensing, conversation, request))
    if run:
        return _hear(run.turn.pk, run.question)
    named = conversation.turns.unfinished().filter(nonce=command.nonce)
    turn = await reading(named.first)()
    return _hear(turn.pk if turn else None)


async def _hear(
    turn: uuid.UUID | None, question: condense.Message | None = None
) -> AsyncIterator[events.TurnEvent]:
    if question:
        yield events.MessageAppended.of(question)
    if turn is None:
        return
    async with channel.read(turn) as told:
        while True:
            event = await told.get()
            yield event
            if isinstance(event, events.TurnEnded):
                return


async def change_queued(conversation: Conversation, command: incoming_frames.ChangeQueued) -> None:
    """Change or remove a message that waits; raise Refused once it does not."""
    async with running_turns.beginning():
        if command.text is None:
            remove = writing(message_queue.remove_queued)
            await remove(conversation=conversation, nonce=command.nonce)
        else:
            await expand(conversation, command.text, strict=not command.literal)
            change = writing(message_queue.change_queued)
            await change(conversation=conversation, nonce=command.nonce, text=command.text)
        channel.tell(hints.QueueChanged(conversation.pk))


async def send_queued(conversation: Conversation, command: incoming_frames.SendQueued) -> None:
    """Send a queued message, once the running turn is stopped; raise Refused."""
    nonce = command.nonce
    row = await reading(message_queue.find_queued)(conversation, nonce)
    if row is None:
        # It was sent already, and may be the running one.
        channel.tell(hints.QueueChanged(conversation.pk))
    elif await writing(message_queue.send_next)(conversation, nonce):
        await stop(conversation.pk)
    else:
        expanded = await expand(conversation, row.text, strict=False)
        await running_turns.begin(
            partial(message_queue.start_queued, conversation, nonce, expanded)
        )
        channel.tell(hints.QueueChanged(conversation.pk))


async def take_up(conversation: Conversation, command: incoming_frames.TakeUp) -> None:
    """Start a turn without a new message; raise Refused when it can't be.

    A repeated nonce starts nothing.
    """
    await _begin(conversation, partial(turns_without_message.take_up, conversation, command))


async def condense_now(conversation: Conversation, request: CondenseRequest) -> None:
    """Condense by hand: in a new turn, or after the running turn's step; or raise Refused.

    A repeated nonce starts nothing.
    """
    if await writing(_ask_to_condense)(conversation, request):
        kind = TurnRequest.Kind.CONDENSE
        channel.tell(hints.TurnRequested(conversation.pk, None, kind, request.nonce))
    else:
        await _begin(conversation, partial(start_condensing, conversation, request))


def _ask_to_condense(conversation: Conversation, request: CondenseRequest) -> bool:
    """Request a condensation of the running turn; False if none runs, or one that condenses."""
    turn = conversation.turns.unfinished().answering().first()
    if turn is None or close_left_over(conversation):
        return False
    check_condensing(conversation, request)
    return TurnRequest.objects.ask(
        TurnRequest.Kind.CONDENSE,
        conversation_id=conversation.pk,
        turn=turn.pk,
        nonce=request.nonce,
        details=request.to_json(),
    )


async def put_off_condensing(conversation: Conversation) -> None:
    """Have the next condensation that would begin by itself wait for one turn."""
    await writing(message_store.put_off)(conversation, True)
    channel.tell(hints.ConversationChanged(conversation.pk))


async def stop(conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> None:
    """Stop a turn, unless it has ended; without a name, whichever runs."""
    if task := running_turns.find(conversation_id, turn):
        task.stop()
    else:
        await writing(stop_elsewhere)(conversation_id, turn)


def stop_elsewhere(conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> None:
    """Stop a turn of another process, or one that waits for a process; callable from any thread."""
    if stop_unclaimed(conversation_id, turn):
        channel.tell(hints.ConversationChanged(conversation_id))
    else:
        _ask(TurnRequest.Kind.STOP, conversation_id, turn)


def stop_all(user_pk: int) -> None:
    """Stop all turns in a user's conversations; callable from any thread."""
    turns = Turn.objects.unfinished().filter(conversation__owner=user_pk)
    for pk in turns.values_list("conversation", flat=True):
        stop_elsewhere(pk)


async def cancel_condensing(conversation_id: uuid.UUID, turn: uuid.UUID | None = None) -> None:
    """Cancel the condensation that runs; a turn that only waits for it goes on."""
    if task := running_turns.find(conversation_id, turn):
        task.cancel_condensing()
    else:
        await writing(_ask)(TurnRequest.Kind.CANCEL_CONDENSING, conversation_id, turn)


def _ask(kind: TurnRequest.Kind, conversation_id: uuid.UUID, turn: uuid.UUID | None) -> None:
    """Send a request to a turn in any process, even if it can't be stored."""
    nonce = uuid.uuid4()
    try:
        TurnRequest.objects.ask(kind, conversation_id=conversation_id, turn=turn, nonce=nonce)
    except DatabaseError as error:
        log.warning("what was asked of a turn could not be stored: %s", error)
    channel.tell(hints.TurnRequested(conversation_id, turn, kind, nonce))


def close_left_over(conversation: Conversation) -> bool:
    """Close turns that are on record as running although they ended; callable from any thread.

    A full disk may have kept them from being closed. Returns True if there was one.
    """
    # A turn that begins after this look is younger than ``before``.
    before = timezone.now()
    return bool(crash_recovery.close_unsaved(running_turns, conversation, before))


def announce_change(conversation_id: uuid.UUID) -> None:
    """Have all pages fetch the transcript again; callable from any thread."""
    check_drafts([conversation_id])
    channel.tell(hints.ConversationChanged(conversation_id))


def check_drafts(conversations: "Iterable[uuid.UUID] | QuerySet[Any, Any]") -> None:
    """Have drafts dropped that a change made useless, before they cost more."""
    found = BackgroundDraft.objects.filter(conversation__in=conversations)
    for pk in found.values_list("conversation", flat=True):
        enqueue("check_draft", conversation=str(pk))


def answer_question(question: Question, decision: str, words: str) -> None:
    """Store a person's decision, and have the turn read it that waits; raise Refused."""
    approvals.answer_question(question=question, decision=decision, words=words)
    announce_answer(question.turn.conversation_id)


def announce_answer(conversation_id: uuid.UUID) -> None:
    """Have the waiting turn read a person's answer; callable from any thread."""
    channel.tell(hints.Answered(conversation_id))


def close_deleted(conversation_id: uuid.UUID) -> None:
    """Stop the turn of a deleted conversation, and close its pages' sockets.

    Callable from any thread.
    """
    stop_elsewhere(conversation_id)
    check_drafts([conversation_id])
    channel.tell(hints.ConversationDeleted(conversation_id))


def look_again(user_pk: int) -> None:
    """Have each open page of a user's come back, if it still may; callable from any thread."""
    channel.tell(hints.SessionsEnded(user_pk))


def announce_changes(user_pk: int) -> None:
    """Announce changes of a user's settings to all their open pages; callable from any thread."""
    check_drafts(Conversation.objects.filter(owner=user_pk).values("pk"))
    channel.tell(hints.UserChanged(user_pk))


def announce_list(user_pk: int) -> None:
    """Have all open pages of a user's fetch their list of conversations again."""
    channel.tell(hints.ListChanged(user_pk))


def announce_title(conversation: Conversation) -> None:
    """Have all open pages of its owner's show a conversation's new title."""
    announce_list(conversation.owner_id)
    channel.tell(hints.TitleChanged(conversation.pk))


def newest(conversation_id: uuid.UUID) -> int:
    """Return the number of the last change that was sent to pages of a conversation."""
    return views.newest(conversation_id)
