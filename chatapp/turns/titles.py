"""Titles: a model names a conversation after its first turn, as a background job."""

import logging
import re
import uuid

from asgiref.sync import sync_to_async

import condense
from chatapp.agent.model_call import StreamedCall
from chatapp.agent.ports import ModelRequest, Nobody, Purpose
from chatapp.agent.prompts import TITLE_SYSTEM, TITLE_WANTED
from chatapp.conversations import conversations
from chatapp.conversations.context.sizes import Scale
from chatapp.conversations.context.turn_context import TurnContext, known_runs, read_run
from chatapp.models import Message, Turn, errors, message_store
from chatapp.models.accounts import provider_for
from chatapp.models.database import reading
from chatapp.page.live import hints
from chatapp.page.live.channel import channel
from chatapp.storage.journal import Calls, ConversationJournal
from chatapp.storage.partial_replies import RetriedWrites

log = logging.getLogger(__name__)


async def name_after(turn: str) -> None:
    """Name a conversation after its first turn, and show the name on every page."""
    # A run that has just ended here is still known.
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
MOST_TITLE_TOKENS = 1_000

# A heading's sign and the word for a title; and the same marks, or quotes, around all of a line.
_BEFORE = re.compile(r"(?:#+\s+)?(?:[*_]*Title:[*_]*\s*)?")
_MARKED = re.compile(r"([\"'`*_]+)((?:(?!\1).)+)\1|[“”„«]([^“”„«»]+)[“”»]")


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
    line = next((one for one in reply.splitlines() if any(map(str.isalnum, one))), "")
    title = _unmarked(_BEFORE.sub("", _unmarked(line), count=1))
    return title if len(title) <= LONGEST else ""


def _unmarked(line: str) -> str:
    line = " ".join(line.split()).rstrip(".")
    found = _MARKED.fullmatch(line)
    return (found[2] or found[3]) if found else line


async def name_conversation(run: TurnContext) -> bool:
    """Have the model name a conversation after its first turn; return True for a new name.

    The call is on record. If it fails, the conversation keeps its name.
    """
    question, answer = await reading(_read)(run.turn)
    if not (question.strip() and answer.strip()):
        return False
    try:
        provider = await reading(provider_for)(run.profile, most=MOST_TITLE_TOKENS)
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
