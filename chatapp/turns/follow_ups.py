"""Follow-ups of a turn, as background jobs: a requested condensation, the queue, drafts.

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

from chatapp.condensing import background_drafts, draft_writer
from chatapp.conversations.composer.slash_commands import expand
from chatapp.conversations.context.condense_requests import CondenseRequest
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.models import Conversation, Turn, errors
from chatapp.models.database import reading
from chatapp.page.live import hints
from chatapp.page.live.channel import channel
from chatapp.turns import message_queue
from chatapp.turns.running_turns import running_turns
from chatapp.turns.turns_without_message import start_condensing, start_idle

log = logging.getLogger(__name__)

# Seconds before a follow-up is tried again, if the database could not take it.
AGAIN = 5.0


async def follow_turn(turn: str, is_done: bool, wish: dict[str, Any] | None) -> None:
    """Condense if that was requested during a turn, otherwise send the next queued message."""
    row = await reading(Turn.objects.select_related("conversation").get)(pk=turn)
    conversation = row.conversation
    if wish:
        asked = CondenseRequest.from_json(uuid.UUID(wish["nonce"]), wish["details"])
        store = partial(start_condensing, conversation, asked)
        if await _until_stored(conversation, lambda: running_turns.begin(store)):
            return
    others = await reading(message_queue.waiting_for_others)(conversation.owner_id)
    # A message that is refused leaves its place to the next one.
    for there, goes_on in [(conversation, is_done), *[(one, False) for one in others]]:
        if await _until_stored(there, partial(send_next, there, goes_on)):
            channel.tell(hints.QueueChanged(there.pk))
            return


async def send_next(conversation: Conversation, is_done: bool) -> TurnContext | None:
    """Send the message asked for next or, after a turn that is done, the oldest one that waits."""
    row = await reading(message_queue.find_next)(conversation, after_failure=not is_done)
    if row is None:
        return None
    expanded = await expand(conversation, row.text, strict=False)
    return await running_turns.begin(
        partial(message_queue.start_queued, conversation, row.nonce, expanded)
    )


async def _until_stored(
    conversation: Conversation, work: Callable[[], Awaitable[TurnContext | None]]
) -> TurnContext | None:
    """Return the turn that follows, None if it is refused; retry while it can't be stored."""
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
    if run is None and running_turns.closing:
        # The job was cut off, so another worker runs it again.
        raise asyncio.CancelledError
    return run


async def write_draft(conversation: str) -> None:
    """Have a draft written, and the line at the composer updated."""
    pk = uuid.UUID(conversation)
    await draft_writer.write_draft(pk)
    channel.tell(hints.ContextNews(pk))


async def check_draft(conversation: str) -> None:
    """Drop a draft that a change has made useless, and update the line at the composer."""
    pk = uuid.UUID(conversation)
    await background_drafts.check(pk)
    channel.tell(hints.ContextNews(pk))


async def condense_idle(turn: str) -> None:
    """Condense after a long silence, if the turn is still the newest one."""
    row = await reading(Turn.objects.get)(pk=turn)
    newest = await reading(Turn.objects.filter(conversation=row.conversation_id).newest)()
    if newest != row:
        return
    try:
        await running_turns.begin(partial(start_idle, row.conversation_id))
    except errors.Refused as reason:
        log.info("nothing was condensed while idle: %s", reason)
