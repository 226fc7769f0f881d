"""A conversation's name, asked of the model that answers in it."""

import condense
from chatapp.agent.prompts import TITLE_SYSTEM, TITLE_WANTED
from chatapp.agent.provider import ModelRequest, Purpose

# Characters of the question and of the answer that are shown, and of a title.
SHOWN, LONGEST = 2_000, 80

_AROUND = " \t\"'`*_#“”„«»."


def title_request(question: str, answer: str) -> ModelRequest:
    """Return the request for a title of a conversation that begins in this way."""
    text = TITLE_WANTED.format(question=_cut(question), answer=_cut(answer))
    message = condense.Message("user", (condense.TextBlock(text),))
    return ModelRequest(TITLE_SYSTEM, (message,), purpose=Purpose.TITLE)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def read_title(reply: str) -> str:
    """Return the title in a reply, "" where there is none that could be one."""
    line = next((one for one in reply.splitlines() if one.strip(_AROUND)), "")
    title = " ".join(line.removeprefix("Title:").split()).strip(_AROUND)
    return title if len(title) <= LONGEST else ""
