"""Values: figures that a summary states in place of those that messages have."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

from condense.facts.ledger import BEGINNINGS
from condense.facts.quotes import Quote, quotes_in
from condense.facts.texts import Shown, plain, plain_text
from condense.messages import Message, TextBlock
from condense.recall.words import terms_in

VALUE_CHARS_READ = 30_000  # of a summary
SHARED = 0.5  # of the words that a figure was quoted with, for another to stand in its place
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_ABOUT = re.compile(
    r"(?:[~≈<>]|\b(?:about|around|roughly|nearly|almost|over|under|ca\.|rund|etwa))\s*\Z",
    re.IGNORECASE,
)
_COPIED = (*BEGINNINGS, "<")  # how what was copied by rule begins


class Values:
    """The figures in a summary's own words, by their shape: "0 minutes" for "40 minutes"."""

    def __init__(self, hidden: Sequence[Message], kept: Sequence[Message] | str) -> None:
        others = [Message("user", kept)] if isinstance(kept, str) else kept
        made = [one for one in others if one.is_summary or isinstance(kept, str)]
        blocks = [block for one in made for block in one.blocks]
        texts = [block.text for block in blocks if isinstance(block, TextBlock)]
        written = "\n".join([one for one in texts if not one.startswith(_COPIED)])[
            :VALUE_CHARS_READ
        ]
        self._prose, self._stated = Shown(written), defaultdict[str, list[Quote]](list)
        for quote in quotes_in(written, most_numbers=VALUE_CHARS_READ):
            self._stated[_shape(quote)].append(quote)
        self._messages = [*hidden, *[one for one in others if one not in made]]

    def instead_of(self, quotes: Iterable[Quote]) -> str:
        """Return a summary's words that change one of the figures, "" without any.

        A value that any message has, a rounded one and another unit are no change.
        """
        for said in quotes:
            others = self._stated[shape] if "0" in (shape := _shape(said)) else []
            if others and not any(map(self._prose.says, said.spellings)):
                for other in others:
                    if _replaces(other, said) and not self._originals.says(other.figure):
                        return other.text
        return ""

    @cached_property
    def _originals(self) -> Shown:
        return Shown(plain_text(self._messages))


def _shape(quote: Quote) -> str:
    return _DIGITS.sub("0", plain(quote.figure))


def _replaces(other: Quote, said: Quote) -> bool:
    """Return True if one figure has the words of another, and another value."""
    numbers = [[float(one) for one in _DIGITS.findall(plain(q.figure))] for q in (other, said)]
    if _ABOUT.search(other.text.partition(other.figure)[0]) or numbers[0] == numbers[1]:
        return False
    terms = said.terms
    return len(terms_in(terms, other.text)) >= max(1, SHARED * len(terms))
