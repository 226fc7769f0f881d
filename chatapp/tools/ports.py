"""What tools ask for besides a folder: each names in its ``run`` the one thing that it gets.

Whoever builds the toolbox offers them; a tool whose port nobody offers is not there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Found:
    """A message of the conversation in which something was found."""

    seq: int
    who: str
    excerpt: str


class History(Protocol):
    """What was said in this conversation and is hidden from the model now."""

    async def search(self, words: str, limit: int) -> Sequence[Found]:
        """Return the messages that are most about these words, the best first."""
        ...

    async def read(self, seq: int) -> str | None:
        """Return all that a message says; None where there is no such message."""
        ...


class Person(Protocol):
    """Whoever the conversation belongs to."""

    async def ask(self, question: str, answers: Sequence[str], /) -> str:
        """Return what they answer, perhaps one of the ``answers``; waits as long as it takes."""
        ...
