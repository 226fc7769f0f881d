"""What follows a turn, as background jobs: a condensation that was asked for, the queue, a title.

They are enqueued in the transaction that ends the turn, so none is lost with a process.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from django.db import OperationalError

from chatapp import errors
from chatapp.composer.slash_commands import bring
from chatapp.condensation import background_drafts, draft_writer
from chatapp.context.condense_requests import CondenseRequest
from chatapp.context.turn_context import TurnContext, known_runs, read_run
from chatapp.live import hints
from chatapp.live.channel import channel
from chatapp.models import Conversation, Turn
from chatapp.models.database import reading
from chatapp.turns import message_queue
from chatapp.turns.running_turns import running_turns
from chatapp.turns.titles import name_conversation
from chatapp.turns.turn_queue import begin
from chatapp.turns.turns_without_message import start_condensing, start_idle

log = logging.getLogger(__name__)

# Seconds before what follows a turn is tried again, where the database could not take it.
AGAIN = 5.0


async def follow_turn(turn: str, is_done: bool, wish: dict[str, Any] | None) -> None:
    """Condense if that was asked for during a turn, otherwise send the next message that waits."""
    row = await reading(Turn.objects.select_related("conversation").get)(pk=turn)
    conversation = row.conversation
    if wish:
        asked = CondenseRequest.from_json(uuid.UUID(wish["nonce"]), wish["details"])
        store = partial(start_condensing, conversation, asked)
        if await _until_stored(conversation, lambda: begin(store)):
            return
    if await _until_stored(conversation, lambda: send_next(conversation, is_done)):
        channel.tell(hints.QueueChanged(conversation.pk))


async def send_next(conversation: Conversation, is_done: bool) -> TurnContext | None:
    """Send the message asked for next or, after a turn that is done, the oldest one that waits."""
    row = await reading(message_queue.find_next)(conversation, after_failure=not is_done)
    if row is None:
        return None
    brought = await bring(conversation, row.text, strict=False)
    return await begin(partial(message_queue.start_queued, conversation, row.nonce, brought))


async def _until_stored(
    conversation: Conversation, work: Callable[[], Awaitable[TurnContext | None]]
) -> TurnContext | None:
    """Return the turn that follows, None where it is refused; try while it can't be stored."""
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


async def write_draft(conversation: str) -> None:
    """Have a draft written, and the line at the composer say so."""
    pk = uuid.UUID(conversation)
    await draft_writer.write_draft(pk)
    channel.tell(hints.ContextNews(pk))


async def check_draft(conversation: str) -> None:
    """Drop a draft that a change has made useless, and show that."""
    pk = uuid.UUID(conversation)
    await background_drafts.check(pk)
    channel.tell(hints.ContextNews(pk))


async def name_after(turn: str) -> None:
    """Have the model name the conversation whose first turn has ended."""
    # The one that has just ended here is known still.
    run = known_runs.get(uuid.UUID(turn)) or await reading(_read_run)(turn)
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


async def condense_idle(turn: str) -> None:
    """Condense where nothing was said for long after a turn."""
    row = await reading(Turn.objects.get)(pk=turn)
    newest = await reading(Turn.objects.filter(conversation=row.conversation_id).newest)()
    if newest != row:
        return
    try:
        await begin(partial(start_idle, row.conversation_id))
    except errors.Refused as reason:
        log.info("nothing was condensed while idle: %s", reason)
