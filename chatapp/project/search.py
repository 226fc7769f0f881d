"""Search by words: a query, and its matches in a text."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

from condense import UNSPACED, fold, is_unspaced, space_out

# Longer ones are cut: nobody types that much to find something.
LONGEST_QUERY = 200
# Characters of an excerpt, and how many of them stand before the first match.
EXCERPT, BEFORE = 160, 40
_PHRASE = re.compile(r'"([^"]*)"?|(\S+)')
_WORD = re.compile(r"[^\W_]+")
_SPACE = re.compile(r"\s+")

Phrase = tuple[str, ...]


def words_of(text: str) -> list[str]:
    """Return the words of a text without capitals and accents, in their order."""
    return _WORD.findall(fold(space_out(unicodedata.normalize("NFC", text))))


@dataclass(frozen=True)
class Query:
    """Phrases that all have to be in a text; the last word of the last one may go on.

    The words of a phrase follow each other: in the text they stood in quotation marks, or without a
    space.
    """

    phrases: tuple[Phrase, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the query of a text; any text is a valid one."""
        composed = unicodedata.normalize("NFC", text[:LONGEST_QUERY])
        chunks = (quoted or bare for quoted, bare in _PHRASE.findall(composed))
        phrases = (tuple(_WORD.findall(space_out(chunk))) for chunk in chunks)
        return cls(tuple(filter(None, phrases)))

    def __bool__(self) -> bool:
        return bool(self.phrases)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the expression that matches any of the phrases in a folded text."""
        return re.compile(self._source(r"[^\W_]", r"[\W_]"))

    @property
    def script_pattern(self) -> str:
        """The same as a JavaScript expression with the flag "u", for the page to mark them."""
        return self._source(r"[\p{L}\p{N}]", r"[^\p{L}\p{N}]")

    def _source(self, letter: str, other: str) -> str:
        """Return an expression for phrases that begin and end at the borders of words."""
        letter = f"(?![{UNSPACED}]){letter}"
        sources = []
        for phrase in self.phrases:
            source = fold(phrase[0])
            for one, following in pairwise(phrase):
                may_touch = is_unspaced(one[-1]) or is_unspaced(following[0])
                source += f"{other}{'*' if may_touch else '+'}{fold(following)}"
            begins = "" if is_unspaced(phrase[0][0]) else f"(?<!{letter})"
            goes_on = phrase is self.phrases[-1] or is_unspaced(phrase[-1][-1])
            sources.append(f"{begins}{source}" if goes_on else f"{begins}{source}(?!{letter})")
        return "|".join(sources)


def excerpt(text: str, query: Query) -> list[tuple[str, bool]]:
    """Return the text around the first match, in pieces: words, and True for a match."""
    folded = fold(text := unicodedata.normalize("NFC", text))
    first = query.pattern.search(folded)
    start = max(0, first.start() - BEFORE) if first else 0
    if first and start:
        # A little before the match, with a whole word.
        start = text.find(" ", start, first.start()) + 1 or start
    end = start + EXCERPT
    pieces, at = [("…" if start else "", False)], start
    for found in query.pattern.finditer(folded, start, end):
        pieces += [(text[at : found.start()], False), (text[found.start() : found.end()], True)]
        at = found.end()
    pieces += [(text[at:end], False), ("…" if end < len(text) else "", False)]
    return [(_SPACE.sub(" ", words), found) for words, found in pieces if words]
