"""The one ranking of passages, for the agent's search, for recall and for receipts.

An index finds the messages that have a question's rare words. Those and the ones next to them are
cut into passages, and each passage is ranked by the question's words that it has, how rare they
are, how near they stand to each other, and those that the rest of its message has or the message
before, which it may answer. For the engine alone, an index in memory is enough.
"""

import bisect
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple, Protocol

from condense.messages import Message
from condense.recall.passages import Passage
from condense.recall.pieces import cut
from condense.recall.speakers import Part, parts_of
from condense.recall.words import ASKED, MARKS, Term, fold, terms_of, words_of

# Messages of each word that is looked for, the newest, and those that are read for all words
# together; and the rarest words that are looked for in twos where they are usual.
MOST, READ, RAREST = 96, 24, 3
INDEXED = 200_000  # characters of a message that is held in memory
# Of a longer message only what stands so near to a word of the question is cut into passages.
LONG, NEARBY, MOST_STRETCHES = 12_000, 1_500, 6
# How soon a word said again adds nothing, and what the length takes away, as in BM25.
_SATURATION, _LENGTH, _USUAL = 1.2, 0.4, 360
# What a word counts elsewhere in the message, in the one before and the one after it.
_ELSEWHERE, _BEFORE, _ASKED, _AFTER = 0.6, 0.5, 0.8, 0.2
# What words count beside a rare one: pairs of signs, signs, and words of any text.
_KINDS = {"word": 1.0, "stem": 1.0, "pair": 0.5, "sign": 0.4}
_COMMON = 0.4
# Characters within which words stand near each other, and how fast that gets less.
_NEAR, _FADING = 80, 25
# A passage that asks only, or in the end, seldom holds the answer. Later is better, all else equal.
_ASKS, _ASKS_LAST, _LATER = 0.5, 0.8, 0.02
_QUESTION = re.compile(r"[^.!?。！？؟\n]{1,200}[?？؟]")
# Of the words of two passages: with so many in common they say the same.
_SAME = 0.8
# How well passages fit what asks nothing, compared with a question, and its words at least.
_TOLD, _TOLD_WORDS = 0.15, 2
# Of what a word that only one message has tells: found, it is evidence.
_EVIDENCE = 0.9

Terms = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class SearchedMessage:
    """A message that can be found: where it stands among all, whose it is, and what it says."""

    id: str
    seq: int
    role: str
    parts: Sequence[Part]

    @property
    def text(self) -> str:
        """The text of all parts."""
        return "\n".join([part.text for part in self.parts])


class Near(NamedTuple):
    """A passage near to a question in meaning, of those that a message has embedded."""

    number: int
    passage: int
    likeness: float


class Index(Protocol):
    """The hidden messages of one conversation by their words; they have numbers in a span."""

    @property
    def span(self) -> tuple[int, int]:
        """The numbers of the first and the last message."""
        ...

    def look_up(self, wanted: Sequence[Terms], most: int) -> Sequence[Sequence[int]]:
        """Return for each group of terms the numbers of messages that have all, newest first."""
        ...

    def nearest(self, question: str, most: int) -> Sequence[Near]:
        """Return the embedded passages nearest to a question; () without an embedder."""
        ...

    def read(self, numbers: Sequence[int]) -> Sequence[SearchedMessage]:
        """Return these messages and those next to them, as far as they are hidden."""
        ...


def find_passages(index: Index, question: str, limit: int) -> list[Passage]:
    """Return the passages that fit a question best, the best first.

    Each is of another message, and says something else.
    """
    terms = terms_of(question)
    telling = [term for term in terms if term.kind != "common"]
    # The longest are the rarest, mostly. Where all words are common, those are looked for.
    longest = sorted(telling or terms, key=lambda one: (one.kind == "sign", -len(one.text)))
    asked = longest[:ASKED]
    if not asked:
        return []
    found = dict(zip(asked, index.look_up([(term,) for term in asked], MOST), strict=True))
    weights = {term: weight_of(term, found.get(term), index.span) for term in terms}
    numbers = _candidates(index, found, weights)
    said = {one.seq: one for one in index.read(numbers)} if numbers else {}
    first, last = index.span
    passages = _passages(
        said,
        _Question(
            terms,
            [weights[term] for term in terms],
            asks=any(mark in question for mark in MARKS),
            evidence=_EVIDENCE * math.log(1 + 2 * (last - first + 1)),
        ),
    )
    return _different([one for _, one in sorted(passages, key=lambda one: -one[0])], limit)


def _different(passages: Sequence[Passage], limit: int) -> list[Passage]:
    """Return the first passages, without those of the same message or with the same words."""
    best: list[Passage] = []
    seen: list[frozenset[str]] = []
    for passage in passages:
        if len(best) == limit:
            break
        words = frozenset(words_of(passage.text))
        is_new = all(len(words & other) < _SAME * len(words | other) for other in seen)
        if is_new and passage.seq not in [one.seq for one in best]:
            best.append(passage)
            seen.append(words)
    return best


def weight_of(term: Term, found: Sequence[int] | None, span: tuple[int, int]) -> float:
    """Return how much a term tells, by the share of messages that have it."""
    if found is None:
        return _COMMON
    first, last = span
    size = last - first + 1
    # Of one that many have only the newest are known: as many may be in each stretch before.
    known = last - found[-1] + 1 if len(found) == MOST else size
    return _KINDS.get(term.kind, _COMMON) * math.log(1 + size / (len(found) * size / known + 0.5))


def _candidates(
    index: Index, found: Mapping[Term, Sequence[int]], weights: Mapping[Term, float]
) -> list[int]:
    """Return the messages to read: those with most of the rare words, or with two that are not."""
    scores: defaultdict[int, float] = defaultdict(float)
    usual = {term for term, numbers in found.items() if len(numbers) == MOST}
    rarest = sorted([term for term in found if found[term]], key=lambda term: -weights[term])[
        :RAREST
    ]
    pairs = [pair for pair in combinations(rarest, 2) if not usual.isdisjoint(pair)]
    together = zip(pairs, index.look_up(pairs, MOST), strict=True) if pairs else ()
    lists = [((t,), numbers) for t, numbers in found.items() if t not in usual]
    lists = [*lists, *together] or [((term,), found[term]) for term in rarest]
    for terms, numbers in lists:
        worth = sum([weights[term] for term in terms])
        for number in numbers:
            scores[number] += worth
    return sorted(scores, key=lambda number: (-scores[number], -number))[:READ]


# Where a text has the terms of a question, by their numbers, and how well each fits there.
Places = dict[int, list[tuple[int, float]]]


@dataclass(frozen=True, slots=True)
class _Question:
    """What is looked for, and how much each term tells; how much found is evidence enough."""

    terms: Sequence[Term]
    weights: Sequence[float]
    asks: bool
    evidence: float

    def fit(self, fits: Mapping[int, float]) -> float:
        """Return how well what was found fits: the share of all that tells, with evidence."""
        telling = [number for number, term in enumerate(self.terms) if term.kind != "common"]
        words = sum([_KINDS[self.terms[number].kind] for number in telling])
        # A single word of what asks nothing may be any.
        if not telling or not (self.asks or words >= _TOLD_WORDS):
            return 0
        found = sum([self.weights[number] * fits[number] for number in telling if number in fits])
        share = found / (sum([self.weights[number] for number in telling]) or 1)
        return share * (1 - math.exp(-found / self.evidence)) * (1 if self.asks else _TOLD)


def _passages(
    said: Mapping[int, SearchedMessage], question: _Question
) -> Iterator[tuple[float, Passage]]:
    """Yield the passages that have any of the words, or stand beside such, with their scores."""
    weights = question.weights
    pieces = {seq: [*_pieces(one.parts, question.terms, weights)] for seq, one in said.items()}
    has = {seq: _best([places for _, _, places in own]) for seq, own in pieces.items()}
    total, newest = sum(weights), max(said, default=1)
    for seq, one in said.items():
        before = said.get(seq - 1)
        asks = before and before.role != one.role and before.text.rstrip().endswith(MARKS)
        for speaker, text, places in pieces[seq]:
            own = _best([places])
            fits = dict(own)
            _add(fits, has[seq], _ELSEWHERE)
            _add(fits, has.get(seq - 1, {}), _ASKED if asks else _BEFORE)
            _add(fits, has.get(seq + 1, {}), _AFTER)
            if fits:
                covered = sum([weights[number] * fit for number, fit in fits.items()])
                beside = covered - sum([weights[number] * fits[number] for number in own])
                score = _said(places, weights, len(text)) if places else 0
                score = (score + beside) * (0.5 + covered / total) + _nearness(places, weights)
                score *= _asking(text) * (1 + _LATER * seq / newest)
                rarest = max(places, key=lambda number: weights[number], default=None)
                at = 0 if rarest is None else places[rarest][0][0]
                fit = question.fit(fits)
                yield score, Passage(one.id, seq, text, fit, at=at, speaker=speaker)


def _add(fits: dict[int, float], beside: Mapping[int, float], part: float) -> None:
    """Count what stands beside a passage, where it has not more itself."""
    for number, fit in beside.items():
        if fits.get(number, 0) < fit * part:
            fits[number] = fit * part


def _said(places: Places, weights: Sequence[float], size: int) -> float:
    """Return what it tells that words are said so often in a text of so many characters."""
    length = 1 - _LENGTH + _LENGTH * size / _USUAL
    score = 0.0
    for number, found in places.items():
        often = sum([fit for _, fit in found])
        best = max([fit for _, fit in found])
        score += weights[number] * best * often * (1 + _SATURATION) / (often + _SATURATION * length)
    return score


def _nearness(places: Places, weights: Sequence[float]) -> float:
    """Return what it tells that different words stand near each other."""
    if len(places) <= 1:
        return 0
    found = sorted([(at, number) for number, all_at in places.items() for at, _ in all_at])
    pairs: dict[frozenset[int], float] = {}
    for (at, one), (then, other) in pairwise(found):
        if one != other and then - at < _NEAR:
            worth = min(weights[one], weights[other]) / (1 + (then - at) / _FADING)
            pair = frozenset((one, other))
            pairs[pair] = max(pairs.get(pair, 0.0), worth)
    return sum(pairs.values())


def _asking(text: str) -> float:
    if not text.rstrip().endswith(MARKS):
        return 1
    return _ASKS if _QUESTION.fullmatch(text.strip()) else _ASKS_LAST


def _best(all_places: Sequence[Places]) -> dict[int, float]:
    best: dict[int, float] = {}
    for places in all_places:
        for number, found in places.items():
            _add(best, {number: max([fit for _, fit in found])}, 1)
    return best


def _pieces(
    parts: Sequence[Part], terms: Sequence[Term], weights: Sequence[float]
) -> Iterator[tuple[str, str, Places]]:
    """Yield (speaker, passage, places of the words in it).

    Of a long part, only the stretches with words are read.
    """
    for speaker, text, _ in parts:
        for start, end in _stretches(text, terms, weights):
            for piece in cut(text[start:end]):
                folded = fold(piece)
                there = [(number, term) for number, term in enumerate(terms) if term.text in folded]
                places = {number: [*term.places(folded)] for number, term in there}
                yield speaker, piece, {number: at for number, at in places.items() if at}


def _stretches(
    text: str, terms: Sequence[Term], weights: Sequence[float]
) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text that are read: all of it, or what is near the rarest words."""
    if len(text) <= LONG:
        yield 0, len(text)
        return
    # An accent that only one of the two has is no matter in so much text.
    lowered = text.lower()
    rarest = sorted(range(len(terms)), key=lambda number: -weights[number])[:MOST_STRETCHES]
    texts = [terms[number].text for number in rarest]
    places = {place for text in texts for place in (lowered.find(text), lowered.rfind(text))} - {-1}
    start = end = 0
    for at in sorted(places):
        if at > end and end:
            yield start, end
            start = max(end, at - NEARBY)
        elif not end:
            start = max(0, at - NEARBY)
        end = max(end, at + NEARBY)
    if end:
        yield start, min(end, len(text))


class MemoryRecall:
    """Searches messages that are hidden; summaries and markers, which stand for others, are not.

    Making one costs the size of its messages, a search the number of those that have its words.
    """

    def __init__(self, hidden: Iterable[Message]) -> None:
        told = [one for one in hidden if not (one.is_summary or one.is_marker)]
        self._said = [
            SearchedMessage(one.id, one.seq or at, one.role, parts)
            for at, (one, parts) in enumerate(parts_of(told), start=1)
        ]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(self._said):
            for word in words_of(one.text[:INDEXED]):
                self._places[word].append(number)
        self._words = sorted(self._places)
        self.span = (0, max(0, len(self._said) - 1))

    def __call__(self, words: str, limit: int) -> Sequence[Passage]:
        """Return the passages that fit some words best, at most ``limit``, the best first."""
        return find_passages(self, words, limit)

    def look_up(self, wanted: Sequence[Terms], most: int) -> list[list[int]]:
        """Return for each group of terms the numbers of messages that have all, newest first."""
        found = [set.intersection(*map(self.numbers_of, terms)) for terms in wanted]
        return [sorted(numbers, reverse=True)[:most] for numbers in found]

    def nearest(self, question: str, most: int) -> Sequence[Near]:
        """Return ()."""
        del question, most
        return ()

    def read(self, numbers: Sequence[int]) -> list[SearchedMessage]:
        """Return these messages and those next to them."""
        wanted = {near for number in numbers for near in (number - 1, number, number + 1)}
        return [self._said[number] for number in wanted if 0 <= number < len(self._said)]

    def numbers_of(self, term: Term) -> set[int]:
        """Return the numbers of all messages that have a term."""
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
