"""Values: figures that a summary states in place of those that messages have."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from condense.facts.ledger import BEGINNINGS
from condense.facts.quotes import Quote, quotes_in
from condense.facts.texts import Shown, plain, plain_text
from condense.messages import Message, TextBlock
from condense.recall.words import fold

READ_CHARS = 100_000  # of a summary
SHARED = 0.5  # of the words that a figure was quoted with, for another to stand in its place
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_ABOUT = re.compile(
    r"(?:[~≈<>]|\b(?:about|around|roughly|nearly|almost|over|under|ca\.|rund|etwa))\s*\Z",
    re.IGNORECASE,
)
_COPIED = (*BEGINNINGS, "<")


class Values:
    """The figures of a summary, beside the messages that it stands for and those that stay."""

    def __init__(self, hidden: Sequence[Message], kept: Sequence[Message] | str) -> None:
        self._hidden, self._kept = hidden, kept

    def instead_of(self, text: str) -> str:
        """Return the words in which a summary changes a figure of a text, "" where it changes none.

        A value that any message has, a rounded one and another unit are no change.
        """
        for said in quotes_in(text) if self._stated else ():
            shape = _shape(said.figure)
            if "0" not in shape or any(map(self._prose.says, said.spellings)):
                continue
            for other in self._stated.get(shape, ()):
                if _stands_for(other, said) and not self._originals.says(other.figure):
                    return other.text
        return ""

    @cached_property
    def _written(self) -> str:
        """What a summary says in its own words, without what was copied by rule."""
        if isinstance(self._kept, str):
            ends = [end for mark in BEGINNINGS if (end := self._kept.find(mark)) >= 0]
            return self._kept[: min(ends, default=READ_CHARS)]
        blocks = [block for one in self._kept if one.is_summary for block in one.blocks]
        texts = [block.text for block in blocks if isinstance(block, TextBlock)]
        return "\n".join([one for one in texts if not one.startswith(_COPIED)])[:READ_CHARS]

    @cached_property
    def _prose(self) -> Shown:
        return Shown(self._written)

    @cached_property
    def _stated(self) -> Mapping[str, Sequence[Quote]]:
        """The figures of a summary by their shape."""
        stated = defaultdict(list)
        for quote in quotes_in(self._written, most_numbers=READ_CHARS):
            stated[_shape(quote.figure)].append(quote)
        return stated

    @cached_property
    def _originals(self) -> Shown:
        stay = [] if isinstance(self._kept, str) else self._kept
        return Shown(plain_text([*self._hidden, *[one for one in stay if not one.is_summary]]))


def _shape(figure: str) -> str:
    """Return a figure with 0 for each number."""
    return _DIGITS.sub("0", plain(figure))


def _stands_for(other: Quote, said: Quote) -> bool:
    """Return whether one figure was quoted with the words of another, and is another value."""
    before, _, _ = other.text.partition(other.figure)
    if _ABOUT.search(before) or _numbers(other.figure) == _numbers(said.figure):
        return False
    folded, terms = fold(other.text), said.terms
    shared = sum([any(term.places(folded)) for term in terms])
    return shared >= max(1, SHARED * len(terms))


def _numbers(figure: str) -> list[float]:
    return [float(number) for number in _DIGITS.findall(plain(figure))]
