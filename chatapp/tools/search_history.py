"""Finds messages of this conversation that the model does not see any more."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolSpec
from chatapp.tools.arguments import argument

MAX_WORDS = 500
MAX_FOUND = 8


@dataclass(frozen=True, slots=True)
class Found:
    """A message of the conversation in which something was found."""

    seq: int
    who: str
    excerpt: str


class History(Protocol):
    """The hidden messages of this conversation."""

    async def search(self, words: str, limit: int) -> Sequence[Found]:
        """Return the messages that are most about these words, the best first."""

    async def read(self, seq: int) -> str | None:
        """Return a message's whole text; None if there is no such message."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The words to search for."""

    query: str = argument("A question, or words that the message may have.")


SPEC = ToolSpec(
    name="search_history",
    description=(
        "Search the part of this conversation that is hidden behind summaries; what fits best "
        "comes first. Hidden messages say more than their summary: before you say that you do not "
        "know something, search with two or three other wordings, such as the words in which it "
        "may have been said. Read a message whole with read_message."
    ),
    tally=condense.plural("Searched the history once", "Searched the history {count} times"),
)


async def run(history: History, arguments: Arguments) -> str:
    """Return the best messages, each with its number and the place that fits."""
    words = arguments.query.strip()
    if not words or len(words) > MAX_WORDS:
        raise ToolError(f"The argument 'query' must have 1 to {MAX_WORDS} characters.")
    found = await history.search(words, MAX_FOUND)
    if not found:
        return "No hidden message has these words. Try others that it might use."
    return "\n\n".join(f"Message {one.seq} ({one.who}):\n{one.excerpt}" for one in found)
