"""Names a conversation after its first answer, beside whatever else goes on."""

import logging
from dataclasses import dataclass

from asgiref.sync import sync_to_async

from chatapp import bootstrap, services
from chatapp.agent import events
from chatapp.agent.calls import Call
from chatapp.agent.titles import read_title, title_request
from chatapp.context.runs import Run
from chatapp.context.titles import TitleJournal
from chatapp.models import Message, Turn, store
from chatapp.models.reading import reading

log = logging.getLogger(__name__)

# A title is short; some models think before they write it.
MOST_TOKENS = 1_000


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a conversation begins with, in words."""

    question: str
    answer: str


async def name_conversation(run: Run) -> bool:
    """Have the model name the conversation whose first turn has ended; whether it has a new name.

    The call is on record. Where it fails, the conversation keeps its name.
    """
    if not _is_wanted(run) or not (begins := await reading(_read)(run.turn)):
        return False
    try:
        title = await _ask(run, begins)
    except Exception as error:  # noqa: BLE001 - nobody waits for it, and its row says what happened
        log.warning("a conversation could not be named: %s", error)
        return False
    name = sync_to_async(services.name_conversation)
    return await name(conversation=run.conversation, title=title, question=begins.question)


def _is_wanted(run: Run) -> bool:
    first = run.turn.at_seq == 0 and run.turn.origin == Turn.Origin.SENT
    return first and run.preferences.name_conversations and run.profile.spec.names_conversations


def _read(turn: Turn) -> Beginning | None:
    said = [store.to_engine(row) for row in Message.objects.filter(turn=turn).order_by("seq")]
    question = said[0].words if said else ""
    answer = said[-1].words if len(said) > 1 else ""
    return Beginning(question, answer) if question.strip() and answer.strip() else None


async def _ask(run: Run, begins: Beginning) -> str:
    provider = await reading(bootstrap.provider_for)(run.profile, most=MOST_TOKENS)
    request = title_request(begins.question, begins.answer)
    call = Call(provider, request, TitleJournal(run))
    written = ""
    async with call.on_record():
        async for event in call.listen():
            match event:
                case events.TextStreamed(text):
                    written += text
                case events.RetryScheduled():
                    written = ""
    return read_title(written)
