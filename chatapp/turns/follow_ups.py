"""What follows a turn, as background jobs: what was asked for during it, the queue, a title, a rest.

They are enqueued in the transaction that ends the turn, so none is lost with a process.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from functools import partial

from django.db import OperationalError

from chatapp import errors
from chatapp.composer.slash_commands import bring
from chatapp.context.turn_context import TurnContext, read_run
from chatapp.live import hints
from chatapp.live.channel import channel
from chatapp.models import Conversation, Turn
from chatapp.models.database import reading
from chatapp.models.turn_requests import TurnRequest
from chatapp.turns import message_queue
from chatapp.turns.running_turns import running_turns
from chatapp.turns.titles import name_conversation
from chatapp.turns.turn_queue import begin
from chatapp.turns.turns_without_message import start_condensing, start_idle

log = logging.getLogger(__name__)

# Seconds before what follows a turn is tried again, where the database could not take it.
AGAIN = 5.0


async def follow_turn(turn: str, succeeded: bool) -> None:
    """Condense if that was asked for during a turn, otherwise send the next message that waits."""
    row = await reading(Turn.objects.select_related("conversation").get)(pk=turn)
    wish = await reading(TurnRequest.objects.condensing)(row)
    if wish and await _until_stored(
        row.conversation, lambda: begin(partial(start_condensing, row.conversation, wish))
    ):
        return
    if await _until_stored(row.conversation, lambda: send_next(row.conversation, succeeded)):
        channel.tell(hints.QueueChanged(row.conversation_id))


async def send_next(conversation: Conversation, succeeded: bool) -> TurnContext | None:
    """Send the message asked for next or, after a success, the oldest one that waits."""
    row = await reading(message_queue.find_next)(conversation, after_failure=not succeeded)
    if row is None:
        return None
    brought = await bring(conversation, row.text, strict=False)
    return await begin(partial(message_queue.start_queued, conversation, row.nonce, brought))


async def _until_stored(
    conversation: Conversation, work: Callable[[], Awaitable[TurnContext | None]]
) -> TurnContext | None:
    """Return the turn that follows, None where it is refused; try again while it can't be stored."""
    failed, run = False, None
    while not running_turns.closing:
        try:
            run = await work()
            break
        except errors.Refused as reason:
            log.info("nothing follows a turn: %s", reason)
            break
        except OperationalError as error:
            log.warning("what follows a turn could not be stored yet: %s", error)
        failed = True
        channel.tell(hints.SavingDelayed(conversation.pk, time.time() + AGAIN))
        await asyncio.sleep(AGAIN)
    if failed:
        channel.tell(hints.SavingDelayed(conversation.pk))
    return run


async def name_after(turn: str) -> None:
    """Have the model name the conversation whose first turn has ended."""
    run = await reading(_read_run)(turn)
    if run and await name_conversation(run):
        conversation = run.conversation
        channel.tell(hints.TitleChanged(conversation.pk))
        channel.tell(hints.ListChanged(conversation.owner_id, but=conversation.pk))


def _read_run(turn: str) -> TurnContext | None:
    row = Turn.objects.select_related("conversation").get(pk=turn)
    try:
        return read_run(row.conversation, turn=row)
    except errors.Refused:
        return None


async def condense_idle(conversation: str, turn: str) -> None:
    """Condense where nothing was said for long after a turn."""
    pk = uuid.UUID(conversation)
    newest = await reading(Turn.objects.filter(conversation=pk).newest)()
    if newest is None or str(newest.pk) != turn:
        return
    try:
        await begin(partial(start_idle, pk))
    except errors.Refused as reason:
        log.info("nothing was condensed while idle: %s", reason)
