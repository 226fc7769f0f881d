"""A conversation's name, asked of the model that answers in it."""

import logging
from typing import override

from asgiref.sync import sync_to_async

import condense
from chatapp.accounts.accounts import provider_for
from chatapp.agent.model_call import StreamedCall
from chatapp.agent.ports import Nobody, ReplyReader
from chatapp.agent.prompts import TITLE_SYSTEM, TITLE_WANTED
from chatapp.agent.provider_port import ModelRequest, Purpose
from chatapp.context.sizes import Scale
from chatapp.context.turn_context import TurnContext
from chatapp.conversations import conversations
from chatapp.models import Message, Turn, message_store
from chatapp.models.database import reading
from chatapp.storage.journal import ConversationJournal
from chatapp.storage.partial_replies import RetriedWrites

# Characters of the question and of the answer that are shown, and of a title.
SHOWN, LONGEST = 2_000, 80

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
    """Return the title in a reply, "" where there is none that could be one."""
    line = next((one for one in reply.splitlines() if one.strip(_AROUND)), "")
    title = " ".join(line.removeprefix("Title:").split()).strip(_AROUND)
    return title if len(title) <= LONGEST else ""


class TitleJournal(ConversationJournal):
    """A journal of one call that neither goes on with its turn nor follows another one."""

    goes_on = False

    def __init__(self, run: TurnContext) -> None:
        super().__init__(run, Scale(overhead=0), RetriedWrites(Nobody()))

    @override
    def keep_partial_reply(self, number: int, read: ReplyReader, *, at_once: bool) -> None:
        """Keep nothing: half a title is none."""


log = logging.getLogger(__name__)

# A title is short; some models think before they write it.
MOST_TOKENS = 1_000


async def name_conversation(run: TurnContext) -> bool:
    """Have the model name the conversation whose first turn has ended; whether it has a new name.

    The call is on record. Where it fails, the conversation keeps its name.
    """
    question, answer = await reading(_read)(run.turn)
    if not (question.strip() and answer.strip()):
        return False
    try:
        provider = await reading(provider_for)(run.profile, most=MOST_TOKENS)
        call = StreamedCall(provider, title_request(question, answer), TitleJournal(run))
        async with call.on_record():
            async for _event in call.listen():
                pass
    except Exception as error:  # noqa: BLE001 - nobody waits for it, and its row says what happened
        log.warning("a conversation could not be named: %s", error)
        return False
    title = read_title(condense.Message("assistant", call.reply.content).text if call.reply else "")
    name = sync_to_async(conversations.name_conversation)
    return await name(conversation=run.conversation, title=title, question=question)


def _read(turn: Turn) -> tuple[str, str]:
    """Return what a conversation begins with: the question and the answer of its first turn."""
    rows = Message.objects.filter(turn=turn).order_by("seq")
    said = [message_store.to_engine(row).words for row in rows]
    return (said[0], said[-1]) if len(said) > 1 else ("", "")
