"""Ranking of texts by how likely they hold the answer to a question.

A question is read for its rare words: those that every text has tell nothing, and endings differ
between a question and its answer. What the index finds by any of them is ranked by how many of them
a text has, how rare they are, and how near they stand to each other.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from chatapp.search.queries import fold, is_unspaced, space_out

# Words of a question that are looked for, and characters that are read for them.
MOST_WORDS, LONGEST = 24, 500
# Words of a text that are compared, and those within which a pair stands together.
COMPARED, NEAR = 4_000, 12
# Characters of an excerpt.
EXCERPT = 500
# Shorter stems are looked for as whole words.
SHORTEST_STEM = 4

# What the text's length takes away, and how soon a word said again adds nothing, as in BM25.
_LENGTH, _SATURATION = 0.4, 1.2
_USUAL_LENGTH = 120

_WORD = re.compile(r"[^\W_]+")
# The longest first.
_ENDINGS = (
    *("ations", "ation", "ments", "ment", "ings", "ing", "ies", "ied", "ers"),
    *("ed", "es", "ly", "er", "s", "e", "y"),
)
_WORDS_OF_ANY_TEXT = """
a about after all also am an and any are as at be been before but by can could did do does for from
had has have he her him his how i if in into is it its just me more most my no not of on one or our
out over say said she should so some such tell than that the their them then there these they this
those to told up us use used using want was we were what when where which while who whom whose why
will with would you your again please remember earlier exactly
"""
_COMMON = frozenset(_WORDS_OF_ANY_TEXT.split())


@dataclass(frozen=True)
class Question:
    """The words of a question that tell something, as stems, in their order."""

    stems: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """Return what a text asks about; where all its words are common, those are."""
        words = words_of(text[:LONGEST])
        telling = [word for word in words if word not in _COMMON] or words
        return cls(tuple(dict.fromkeys(map(stem, telling)))[:MOST_WORDS])

    def __bool__(self) -> bool:
        """Whether it asks about anything."""
        return bool(self.stems)

    def rank(self, texts: Sequence[str]) -> list[int]:
        """Return the numbers of texts, the one that is most likely meant first."""
        read = [[stem(word) for word in words_of(text)[:COMPARED]] for text in texts]
        # How much each word tells, from how many of the texts have it.
        sets = [frozenset(words) for words in read]
        has = {one: sum(one in words for words in sets) for one in self.stems}
        count = len(texts) + 0.5
        rarity = {one: math.log(1 + count / (found + 0.5)) for one, found in has.items()}
        scores = [self._score(words, rarity) for words in read]
        order = range(len(texts))
        return sorted(order, key=lambda number: (-scores[number], number))

    def _score(self, words: Sequence[str], rarity: dict[str, float]) -> float:
        places: dict[str, list[int]] = {}
        for at, word in enumerate(words):
            if word in rarity:
                places.setdefault(word, []).append(at)
        length = 1 - _LENGTH + _LENGTH * len(words) / _USUAL_LENGTH
        said = sum(
            rarity[one] * len(at) * (1 + _SATURATION) / (len(at) + _SATURATION * length)
            for one, at in places.items()
        )
        total = sum(rarity.values()) or 1
        coverage = sum(rarity[one] for one in places) / total
        return said * (0.5 + coverage) + _nearness(places, rarity)


def _nearness(places: dict[str, list[int]], rarity: dict[str, float]) -> float:
    """Return what it tells that words of the question stand near each other."""
    found = sorted((at, one) for one, all_at in places.items() for at in all_at[:50])
    pairs: dict[frozenset[str], float] = {}
    for (at, one), (then, other) in pairwise(found):
        if one != other and then - at <= NEAR:
            worth = min(rarity[one], rarity[other]) / (1 + (then - at) / 4)
            pair = frozenset((one, other))
            pairs[pair] = max(pairs.get(pair, 0.0), worth)
    return sum(pairs.values())


def words_of(text: str) -> list[str]:
    """Return the words of a text without capitals and accents."""
    return _WORD.findall(fold(space_out(unicodedata.normalize("NFC", text))))


def stem(word: str) -> str:
    """Return a word without its ending, as far as that can be told."""
    if len(word) <= SHORTEST_STEM or not word.isalpha() or is_unspaced(word[0]):
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def excerpt(text: str, question: Question) -> str:
    """Return the part of a text in which most of the question's words stand."""
    if len(text) <= EXCERPT:
        return text
    wanted = frozenset(question.stems)
    at = [found.start() for found in _WORD.finditer(text) if stem(fold(found[0])) in wanted]
    best = max(at, key=lambda one: sum(one <= other < one + EXCERPT for other in at), default=0)
    start = max(0, best - EXCERPT // 4)
    end = start + EXCERPT
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
