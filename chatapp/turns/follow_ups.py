"""Follow-ups of a turn, as background jobs: a requested condensation, the queue, a title.

They are enqueued in the transaction that ends the turn, so none is lost with a process.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.db import OperationalError

import condense
from chatapp.accounts.accounts import provider_for
from chatapp.agent.model_call import StreamedCall
from chatapp.agent.ports import ModelRequest, Nobody, Purpose
from chatapp.agent.prompts import TITLE_SYSTEM, TITLE_WANTED
from chatapp.condensing import background_drafts, draft_writer
from chatapp.conversations import conversations
from chatapp.conversations.composer.slash_commands import bring
from chatapp.conversations.context.condense_requests import CondenseRequest
from chatapp.conversations.context.sizes import Scale
from chatapp.conversations.context.turn_context import TurnContext, known_runs, read_run
from chatapp.models import Conversation, Message, Turn, message_store
from chatapp.models.database import reading
from chatapp.operations import errors
from chatapp.page.live import hints
from chatapp.page.live.channel import channel
from chatapp.storage.journal import Calls, ConversationJournal
from chatapp.storage.partial_replies import RetriedWrites
from chatapp.turns import message_queue
from chatapp.turns.running_turns import running_turns
from chatapp.turns.turns_without_message import start_condensing, start_idle

log = logging.getLogger(__name__)

# Seconds before what follows a turn is tried again, where the database could not take it.
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
    # One that is refused there leaves the place to the next.
    for there, goes_on in [(conversation, is_done), *[(one, False) for one in others]]:
        if await _until_stored(there, partial(send_next, there, goes_on)):
            channel.tell(hints.QueueChanged(there.pk))
            return


async def send_next(conversation: Conversation, is_done: bool) -> TurnContext | None:
    """Send the message asked for next or, after a turn that is done, the oldest one that waits."""
    row = await reading(message_queue.find_next)(conversation, after_failure=not is_done)
    if row is None:
        return None
    brought = await bring(conversation, row.text, strict=False)
    return await running_turns.begin(
        partial(message_queue.start_queued, conversation, row.nonce, brought)
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
        # Another worker runs the job again, as one that was cut off.
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


async def name_after(turn: str) -> None:
    """Have the model name the conversation whose first turn has ended."""
    # The one that has just ended here is known still.
    run = known_runs.get(uuid.UUID(turn)) or await reading(_read_run)(turn)
    if run is None:
        return
    conversation = run.conversation
    if await name_conversation(run):
        channel.tell(hints.TitleChanged(conversation.pk))
        channel.tell(hints.ListChanged(conversation.owner_id, but=conversation.pk))
    # The turn's row has the cost of this call, too.
    await sync_to_async(message_store.note_record)(conversation.pk)
    channel.tell(hints.ConversationChanged(conversation.pk))


def _read_run(turn: str) -> TurnContext | None:
    row = Turn.objects.get(pk=turn)
    try:
        return read_run(message_store.read_conversation(row.conversation_id), turn=row)
    except errors.Refused:
        return None


# Characters of the question and of the answer that are shown, and of a title.
SHOWN, LONGEST = 2_000, 80
# Tokens: a title is short, but some models think before they write it.
MOST_TOKENS = 1_000

_AROUND = " \t\"'`*_#“”„«»."


def title_request(question: str, answer: str) -> ModelRequest:
    """Return the request for a title of a conversation that begins in this way."""
    question, answer = [
        text if len(text) <= SHOWN else f"{text[:SHOWN]}…" for text in (question, answer)
    ]
    text = TITLE_WANTED.format(question=question, answer=answer)
    message = condense.Message("user", (condense.TextBlock(text),))
    return ModelRequest(TITLE_SYSTEM, (message,), purpose=Purpose.TITLE)


def read_title(reply: str) -> str:
    """Return the title in a reply, "" without a usable one."""
    line = next((one for one in reply.splitlines() if one.strip(_AROUND)), "")
    title = " ".join(line.removeprefix("Title:").split()).strip(_AROUND)
    return title if len(title) <= LONGEST else ""


async def name_conversation(run: TurnContext) -> bool:
    """Have the model name a conversation after its first turn; return True for a new name.

    The call is on record. If it fails, the conversation keeps its name.
    """
    question, answer = await reading(_read)(run.turn)
    if not (question.strip() and answer.strip()):
        return False
    try:
        provider = await reading(provider_for)(run.profile, most=MOST_TOKENS)
        # The turn is over, and half a title is none.
        calls = Calls(goes_on=False, keeps_parts=False)
        journal = ConversationJournal(run, Scale(overhead=0), RetriedWrites(Nobody()), calls)
        call = StreamedCall(provider, title_request(question, answer), journal)
        async with call.on_record():
            async for _event in call.listen():
                pass
    except Exception as error:  # noqa: BLE001 - nobody waits for it, and its row says what happened
        log.warning("a conversation could not be named: %s", type(error).__name__)
        return False
    title = read_title(condense.Message("assistant", call.reply.content).text if call.reply else "")
    name = sync_to_async(conversations.name_conversation)
    return await name(conversation=run.conversation, title=title, question=question)


def _read(turn: Turn) -> tuple[str, str]:
    """Return the question and the answer of a turn, two empty texts without both."""
    rows = Message.objects.filter(turn=turn).order_by("seq")
    said = [message_store.to_engine(row).words for row in rows]
    return (said[0], said[-1]) if len(said) > 1 else ("", "")
