"""Finds messages of this conversation that the model does not see any more."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolSpec
from chatapp.tools.arguments import argument

MAX_WORDS = 500
MAX_FOUND, MAX_LISTED = 8, 40


class Days(NamedTuple):
    """The first and the last day that are searched."""

    first: date = date.min
    last: date = date.max


ALWAYS = Days()


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message of the conversation in which something was found."""

    seq: int
    who: str
    excerpt: str
    day: date | None = None


class HiddenMessages(Protocol):
    """The hidden messages of this conversation."""

    async def search(self, words: str, limit: int, days: Days) -> Sequence[FoundMessage]:
        """Return messages about these words, the best first; without words the first messages."""

    async def read(self, seq: int) -> str | None:
        """Return a message's whole text; None if there is no such message."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The words to search for, and the days."""

    query: str = argument(
        "A question, or words that the message may have. Without any, the beginnings of the first "
        "messages are listed.",
        default="",
    )
    since: str = argument("The first day to search, such as 2026-05-03.", default="")
    until: str = argument("The last day to search.", default="")


SPEC = ToolSpec(
    name="search_history",
    description=(
        "Search the part of this conversation that is hidden behind summaries; what fits best "
        "comes first. Hidden messages say more than their summary: before you say that you do not "
        "know something, search with two or three other wordings, such as the words in which it "
        "may have been said. If the question is about a time, say the days, and list what was said "
        "then if no words fit. Read a message whole with read_message."
    ),
    tally=condense.plural("Searched the history once", "Searched the history {count} times"),
)


async def run(history: HiddenMessages, arguments: Arguments) -> str:
    """Return the best messages, each with its number and the place that fits."""
    words = arguments.query.strip()
    if len(words) > MAX_WORDS:
        raise ToolError(f"The argument 'query' must have at most {MAX_WORDS} characters.")
    bounds = arguments.since or str(date.min), arguments.until or str(date.max)
    try:
        days = Days._make(map(date.fromisoformat, bounds))
    except ValueError:
        raise ToolError("A day is written as 2026-05-03.") from None
    if days.first > days.last:
        raise ToolError("The argument 'since' must not be after 'until'.")
    found = await history.search(words, MAX_FOUND if words else MAX_LISTED + 1, days)
    if not found:
        return "No hidden message has these words. Try others that it might use, or other days."
    told = [f"Message {one.seq} ({_told(one)}):\n{one.excerpt}" for one in found]
    if len(found) > MAX_LISTED:
        further = f"Read on with read_message from number {found[-1].seq}, or search."
        told[-1] = f"[Only the first {MAX_LISTED}. {further}]"
    return "\n\n".join(told)


def _told(one: FoundMessage) -> str:
    return f"{one.who}, {condense.DAY_FORMAT.format(one.day)}" if one.day else one.who
