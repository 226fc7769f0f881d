"""What follows a turn: a condensation that was asked for, the queue, a title, and a long rest."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import OperationalError
from django.utils.translation import gettext as _

from chatapp import errors
from chatapp.context.condense_requests import CondenseRequest
from chatapp.context.turn_context import TurnContext
from chatapp.live import outgoing_frames
from chatapp.live.status_panel import Notice
from chatapp.models import Conversation
from chatapp.turns.titles import name_conversation
from chatapp.turns.turns_without_message import start_condensing, start_idle

if TYPE_CHECKING:
    from chatapp.turns.active_conversation import ActiveConversation

log = logging.getLogger(__name__)

# Seconds before what follows a turn is tried again, where the database could not take it.
AGAIN = 5.0


async def condense(
    active: "ActiveConversation", conversation: Conversation, wish: CondenseRequest, succeeded: bool
) -> None:
    """Condense after a turn during which that was asked for; then what waits goes on."""

    async def begin() -> None:
        async with active.start_lock:
            if active.running is None:
                await active.begin(partial(start_condensing, conversation, wish))
            elif not active.running.run.turn.condenses:
                active.running.condense_soon(wish)

    await until_stored(active, begin)
    if not active.running:
        active.send_next(conversation, succeeded)


async def until_stored(active: "ActiveConversation", begin: Callable[[], Awaitable[None]]) -> None:
    """Begin what follows a turn, unless it is refused; try again while it can't be stored."""
    failed = False
    while not active.registry.closing:
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
        await active.view.show_notice(Notice("retry", words, until=until))
        await asyncio.sleep(AGAIN)
    if failed:
        await active.view.show_notice(None)


async def name(active: "ActiveConversation", run: TurnContext) -> None:
    """Show everybody the name that a conversation has got after its first answer."""
    if await name_conversation(run):
        active.watchers.send(outgoing_frames.title_changed())
        await active.registry.show_list(run.conversation.owner_id, but=active)


async def condense_idle(active: "ActiveConversation") -> None:
    """Condense if nothing is said for long."""
    await asyncio.sleep(settings.CONDENSE_IDLE_AFTER)
    async with active.start_lock:
        active.idle_task = None
        if active.running or active.registry.closing:
            return
        try:
            await active.begin(partial(start_idle, active.conversation_id))
        except errors.Refused as reason:
            log.info("nothing was condensed while idle: %s", reason)
        except Exception:
            log.exception("nothing could be condensed while idle")
