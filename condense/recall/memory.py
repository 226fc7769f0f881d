"""A search of hidden messages in memory, for the engine alone."""

import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from condense.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock
from condense.recall.passages import Passage
from condense.recall.ranking import SearchedMessage, Terms, find_passages
from condense.recall.words import Term, words_of

READ = 200_000  # characters of a message


class MemoryRecall:
    """Searches messages that are hidden; summaries and markers, which stand for others, are not.

    Making one costs the size of its messages, a search the number of those that have its words.
    """

    def __init__(self, hidden: Iterable[Message]) -> None:
        told = [one for one in hidden if not (one.is_summary or one.is_marker)]
        self._said = [
            SearchedMessage(one.id, one.seq or at, one.role, "\n".join(_texts(one.lasting.blocks)))
            for at, one in enumerate(told, start=1)
        ]
        self._places: dict[str, list[int]] = {}
        for number, one in enumerate(self._said):
            for word in set(words_of(one.text[:READ])):
                self._places.setdefault(word, []).append(number)
        self._words = sorted(self._places)
        self.span = (0, max(0, len(self._said) - 1))

    def __call__(self, words: str, limit: int) -> Sequence[Passage]:
        """Return the passages that fit some words best, at most ``limit``, the best first."""
        return find_passages(self, words, limit)

    def look_up(self, wanted: Sequence[Terms], most: int) -> list[list[int]]:
        """Return for each group of terms the numbers of messages that have all, newest first."""
        found = [set.intersection(*map(self._have, terms)) for terms in wanted]
        return [sorted(numbers, reverse=True)[:most] for numbers in found]

    def read(self, numbers: Sequence[int]) -> list[SearchedMessage]:
        """Return these messages and those next to them."""
        wanted = {near for number in numbers for near in (number - 1, number, number + 1)}
        return [self._said[number] for number in wanted if 0 <= number < len(self._said)]

    def _have(self, term: Term) -> set[int]:
        return {
            number
            for form, goes_on in term.forms
            for word in (self._beginning(form) if goes_on else (form,))
            for number in self._places.get(word, ())
        }

    def _beginning(self, form: str) -> Iterator[str]:
        at = bisect.bisect_left(self._words, form)
        while at < len(self._words) and self._words[at].startswith(form):
            yield self._words[at]
            at += 1


def _texts(said: Any) -> Iterator[str]:
    """Yield what blocks say: texts, what tools were called with, and what they answered."""
    match said:
        case str(text) | TextBlock(text):
            yield text
        case ToolUseBlock(_, _, inner) | ToolResultBlock(_, inner):
            yield from _texts(inner)
        case dict() | list() | tuple():
            for item in said.values() if isinstance(said, dict) else said:
                yield from _texts(item)
