"""Searches of hidden messages: the port, and a small one in memory."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from condense.facts.texts import plain_text
from condense.messages import Message

# Returns the ids of the hidden messages that are most about some words, the best first.
Search = Callable[[str], Sequence[str]]
READ = 200_000  # characters of a message
RAREST = 8  # words of a query that are looked up
_SIGNS = "\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7ff"
_WORD = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")


def NOT_SEARCHED(_words: str) -> Sequence[str]:  # noqa: N802 - it stands for a value
    """Find nothing: nobody can search."""
    return ()


class WordSearch:
    """Finds messages by their words, ranked by how rare a word is and how short its message.

    Summaries and markers are not found: they only stand for others.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        self._lengths: dict[str, int] = {}
        self._places: dict[str, dict[str, int]] = {}
        for message in messages:
            if not (message.is_summary or message.is_marker):
                words = _WORD.findall(plain_text([message])[:READ].casefold())
                self._lengths[message.id] = len(words)
                for word, times in Counter(words).items():
                    self._places.setdefault(word, {})[message.id] = times
        self._usual = sum(self._lengths.values()) / max(1, len(self._lengths))

    def __call__(self, words: str) -> Sequence[str]:
        """Return the ids of the messages that have any of the words' rarest."""
        wanted = dict.fromkeys(_WORD.findall(words.casefold()))
        found = [self._places[word] for word in wanted if word in self._places]
        scores: defaultdict[str, float] = defaultdict(float)
        for places in sorted(found, key=len)[:RAREST]:
            rarity = math.log(1 + len(self._lengths) / len(places))
            for id_, times in places.items():
                length = 0.4 + 0.6 * self._lengths[id_] / self._usual
                scores[id_] += rarity * times / (times + 1.2 * length)
        return sorted(scores, key=lambda id_: -scores[id_])
