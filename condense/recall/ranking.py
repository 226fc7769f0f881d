"""The one ranking of passages, for the agent's search, for recall and for receipts.

An index finds the messages that have a question's rare words, or are near to it in meaning. They
are cut into passages. BM25 ranks these by words, an embedder by meaning, and both are joined. For
the engine alone, an index in memory is enough.
"""

import bisect
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import TYPE_CHECKING, Protocol

from condense.messages import Message
from condense.recall.passages import Near, Passage, cut, embedded_passages
from condense.recall.speakers import USER, Part, parts_of
from condense.recall.words import (
    LONGEST,
    MARKS,
    Term,
    asking_words,
    correcting_words,
    fold,
    is_small_talk,
    respelled,
    terms_in,
    terms_of,
    words_of,
)

if TYPE_CHECKING:
    from condense.recall.meanings import Embedded, Embedder

# Messages of each word that is looked for, the newest; words, the rarest, and messages that are
# read for all; and the rarest words that are looked for in twos where they are usual.
MOST, ASKED, READ, RAREST = 96, 16, 40, 3
NEAREST = 200  # passages that are ranked by their meaning
INDEXED = 200_000  # characters of a message that is held in memory
# The constants of BM25 that suit short texts (Trotman, Puurula and Burgess, 2014). Meanings join by
# a convex combination (Bruch, Gai and Ingber, 2023). The weight of words in it, what the passage
# before and the one after count, are measured: docs/evaluation.md.
K1, B, WORDS, BEFORE, AFTER = 0.9, 0.4, 2, 0.6, 0.2
# The weights of words: signs overlap, and a pair of them is a word. Then the most words that may
# ask nothing, and the fewest that always ask.
_KINDS = {"word": 1.0, "stem": 1.0, "pair": 0.5, "sign": 0.4, "common": 0.3}
_TOLD_WORDS, _MANY_WORDS = 2, 4
# Of the words of two passages: with so many in common they say the same.
_SAME = 0.8
# Messages that are read with one, by their distance; characters of one that may correct it.
BESIDE, CORRECTION = (-1, 0, 1, 2), 200
# Passages with this share of a question's words within so many characters have one subject.
ABOUT, NEAR = 0.4, 150

Terms = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class SearchedMessage:
    """A message that can be found: its place among all, its parts, its number in the index."""

    id: str
    seq: int
    parts: Sequence[Part]
    number: int


class Index(Protocol):
    """The hidden messages of one conversation by their words; they have numbers in a span."""

    @property
    def span(self) -> tuple[int, int]:
        """The numbers of the first and the last message."""
        ...

    def look_up(self, wanted: Sequence[Terms], most: int) -> Sequence[Sequence[int]]:
        """Return for each group of terms the numbers of messages that have all, newest first."""
        ...

    def last_named(self, file: str) -> int:
        """Return the number of the newest message that names a file, 0 if none does."""
        ...

    def nearest(self, question: str, most: int) -> Sequence[Near]:
        """Return the embedded passages nearest to a question; () without an embedder."""
        ...

    def read(self, numbers: Sequence[int]) -> Sequence[SearchedMessage]:
        """Return these messages and those next to them, as far as they are hidden."""
        ...


def find_passages(index: Index, question: str, limit: int) -> list[Passage]:
    """Return the passages that fit a question best, the best first.

    Each is of another message, and says something else. After small talk none fits at all.
    """
    if not (terms := [*dict.fromkeys([*terms_of(question), *terms_of(respelled(question))])]):
        return []
    found = dict(zip(terms, index.look_up([(term,) for term in terms], MOST), strict=True))
    weights = {term: weight_of(term, numbers, index.span) for term, numbers in found.items()}
    terms.sort(key=lambda term: -weights[term])
    total = sum([weights[term] for term in terms[:ASKED]]) or 1
    # Words that nobody said leave their places to others that tell something.
    rarest = [*terms[:ASKED], *(term for term in terms[ASKED:] if term.kind != "common")]
    rarest = [term for term in rarest if found[term]][:ASKED]
    weights = {term: weights[term] / total for term in rarest}
    near = _shares(index.nearest(question, NEAREST))
    by_meaning = {number: share for (number, _), share in reversed(near.items())}
    numbers = [*_join(_candidates(index, found, weights), by_meaning)][:READ]
    passages = _passages(_near(index.read(numbers), numbers)) if numbers else []
    keys = [(one.message.number, one.passage) for one in passages]
    by_meaning = {at: near[key] for at, key in enumerate(keys) if key in near}
    best = _join(_rank(passages, weights), by_meaning)
    asks = _asks(question, terms, passages)
    chosen = _different(passages, best, limit)
    told = [passages[at].told(best[at] * asks, rarest) for at in chosen]
    placed = [_place(one, terms, index) for one in told]
    return [*_with_corrections(placed, passages)][:limit]


def _corrects(one: SearchedMessage) -> bool:
    """Return True for a few words of the user that begin as a correction does."""
    texts = [part.text for part in one.parts if part.speaker == USER]
    is_short = len(texts) == len(one.parts) == 1 and len(texts[0]) <= CORRECTION
    return is_short and bool(correcting_words().match(fold(texts[0])))


def _near(said: Sequence[SearchedMessage], numbers: Sequence[int]) -> list[SearchedMessage]:
    """Return messages, those next to them, and those behind that correct them."""
    seqs = {one.seq for one in said if one.number in numbers}
    beside = {seq + step for seq in seqs for step in (-1, 0, 1)}
    return [one for one in said if one.seq in beside or _corrects(one)]


def _with_corrections(found: Sequence[Passage], read: Sequence["_Piece"]) -> Iterator[Passage]:
    """Yield passages, each with the user's next words behind it if they correct something."""
    later = {one.message.seq: one for one in read if _corrects(one.message)}
    by = {one.seq: {one.seq + 1, one.seq + 2} & later.keys() for one in found}
    known = {one.seq for one in found}
    for one in found:
        # A correction has the subject of the passage before it.
        about = {f"#{seq}" for seq, others in by.items() if others and one.seq in {seq, *others}}
        yield replace(one, asked=one.asked | about)
        for seq in sorted(by[one.seq] - known):
            known.add(seq)
            yield replace(later[seq].told(one.fit, ()), asked=frozenset({f"#{one.seq}"}))


def with_subject(question: str, before: Callable[[], str]) -> str:
    """Return a question that says little with the words before it, which may name its subject.

    Small talk, and what asks nothing, is returned as it is.
    """
    if len(question) > LONGEST or not _has_asking(question):
        return question
    telling = _weight(terms := _telling(terms_of(question)))
    is_short = telling < _TOLD_WORDS and (terms or not is_small_talk(question))
    return f"{question}\n{before()}".strip() if is_short else question


def _place(passage: Passage, terms: Sequence[Term], index: Index) -> Passage:
    """Return a passage with the ``asked`` terms near its place; an outdated file has fit 0."""
    near = passage.text[max(0, passage.at - NEAR) : passage.at + NEAR]
    telling = _telling(terms)
    found = [term.text for term in terms_in(telling, near)]
    twos = map(" ".join, combinations(sorted(found), max(1, min(2, len(telling) - 1))))
    asked = frozenset(twos if len(found) >= ABOUT * len(telling) else ())
    is_old = passage.file and index.last_named(passage.file) > passage.seq
    return replace(passage, asked=asked, fit=0 if is_old else passage.fit)


def _asks(question: str, terms: Sequence[Term], passages: Sequence["_Piece"]) -> bool:
    """Return False for small talk, by its significant words.

    A question mark makes one enough. A few need an asking word, or two of them in a passage.
    """
    telling = _telling(terms)
    if any(mark in question for mark in MARKS):
        return bool(telling)
    if not _TOLD_WORDS <= _weight(telling) < _MANY_WORDS:
        return _weight(telling) >= _MANY_WORDS
    return _has_asking(question) or any(
        _weight(terms_in(telling, one.folded)) >= _TOLD_WORDS for one in passages
    )


def _has_asking(text: str) -> bool:
    return any(mark in text for mark in MARKS) or bool(asking_words().search(fold(text)))


def _telling(terms: Iterable[Term]) -> list[Term]:
    return [term for term in terms if term.kind != "common"]


def _weight(terms: Iterable[Term]) -> float:
    return sum([_KINDS[term.kind] for term in terms])


def _shares(near: Sequence[Near]) -> dict[tuple[int, int], float]:
    """Return the likeness of each passage, scaled from 0 for the last one to 1 for the first."""
    least = near[-1].likeness - 1e-9 if near else 0
    return {one[:2]: (one.likeness - least) / (near[0].likeness - least) for one in near}


def _join(by_words: Mapping[int, float], by_meaning: Mapping[int, float]) -> dict[int, float]:
    """Return the finds of both with their weighted scores, the best first, of equals the last."""
    shares = {
        one: (WORDS * by_words.get(one, 0) + by_meaning.get(one, 0)) / (WORDS + 1)
        for one in {*by_words, *by_meaning}
    }
    return dict(sorted(shares.items(), key=lambda one: (-one[1], -one[0])))


def _different(passages: Sequence["_Piece"], ordered: Iterable[int], limit: int) -> list[int]:
    """Return the first of some places, without those of the same message or with the same words."""
    best: dict[int, int] = {}
    seen: list[frozenset[str]] = []
    for at in ordered:
        if len(best) == limit:
            break
        if (seq := passages[at].message.seq) not in best:
            words = frozenset(words_of(passages[at].folded))
            if all((1 + 1 / _SAME) * len(words & one) < len(words) + len(one) for one in seen):
                best[seq] = at
                seen.append(words)
    return [*best.values()]


def weight_of(term: Term, found: Sequence[int], span: tuple[int, int]) -> float:
    """Return a term's inverse document frequency, as in BM25."""
    first, last = span
    size = last - first + 1
    # Of one that many have only the newest are known: as many may be in each stretch before.
    known = last - found[-1] + 1 if len(found) == MOST else size
    having = len(found) * size / known
    return _KINDS[term.kind] * math.log(1 + max(0, size - having + 0.5) / (having + 0.5))


def _candidates(
    index: Index, found: Mapping[Term, Sequence[int]], weights: Mapping[Term, float]
) -> dict[int, float]:
    """Return the messages with rare words, or with two usual ones, and the weight of these."""
    scores: defaultdict[int, float] = defaultdict(float)
    found = {term: found[term] for term in weights if found[term]}
    usual = {term for term, numbers in found.items() if len(numbers) == MOST}
    rarest = [*found][:RAREST]
    pairs = [pair for pair in combinations(rarest, 2) if not usual.isdisjoint(pair)]
    together = zip(pairs, index.look_up(pairs, MOST), strict=True) if pairs else ()
    lists = [((term,), numbers) for term, numbers in found.items() if term not in usual]
    lists = [*lists, *together] or [((term,), found[term]) for term in rarest]
    for terms, numbers in lists:
        for number in numbers:
            scores[number] += sum([weights[term] for term in terms])
    return scores


@dataclass(frozen=True, slots=True)
class _Piece:
    """A passage of a message, and its number among those that are embedded, or -1."""

    message: SearchedMessage
    part: Part
    text: str
    folded: str
    passage: int

    def told(self, fit: float, terms: Sequence[Term]) -> Passage:
        """Return the passage to recall; its place is that of the first of the terms in it."""
        at = next((at.start() for term in terms for at in term.places(self.folded)), 0)
        one, part = self.message, self.part
        return Passage(one.id, one.seq, self.text, fit, at=at, speaker=part.speaker, file=part.file)


def _passages(said: Iterable[SearchedMessage]) -> list[_Piece]:
    """Return the passages of messages in the order in which they were said."""
    found: list[_Piece] = []
    for one in sorted(said, key=lambda one: one.seq):
        prose = count()
        for part in one.parts:
            for text in cut(part.text):
                passage = next(prose) if part.is_prose else -1
                found.append(_Piece(one, part, text, fold(text), passage))
    return found


def _rank(passages: Sequence[_Piece], weights: Mapping[Term, float]) -> dict[int, float]:
    """Return the places of the passages with any of the words, with their BM25 scores.

    A word in the passage before or after counts less: one may answer the other.
    """
    usual = sum([len(one.text) for one in passages]) / (len(passages) or 1)
    own = [_bm25(one, weights, usual) for one in passages]
    scores: dict[int, float] = {}
    for at, one in enumerate(passages):
        beside = [
            [part * score for score in own[other]]
            for part, other in ((BEFORE, at - 1), (AFTER, at + 1))
            if 0 <= other < len(own) and abs(passages[other].message.seq - one.message.seq) <= 1
        ]
        if score := sum(map(max, zip(own[at], *beside, strict=True))):
            scores[at] = score
    return scores


def _bm25(one: _Piece, weights: Mapping[Term, float], usual: float) -> list[float]:
    """Return the BM25 score of each word in a passage."""
    length = K1 * (1 - B + B * len(one.text) / usual)
    often = [(weight, term.count(one.folded)) for term, weight in weights.items()]
    return [weight * said * (K1 + 1) / (said + length) for weight, said in often]


class MemoryRecall:
    """Searches messages that are hidden; summaries and markers, which stand for others, are not.

    Making one costs the size of its messages, a search the number of those that have its words.
    """

    def __init__(self, hidden: Iterable[Message], embedder: "Embedder | None" = None) -> None:
        told = [one for one in hidden if not (one.is_summary or one.is_marker)]
        self._said = [
            SearchedMessage(one.id, one.seq or at + 1, parts, at)
            for at, (one, parts) in enumerate(parts_of(told))
        ]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(self._said):
            for word in words_of("\n".join([part.text for part in one.parts])[:INDEXED]):
                self._places[word].append(number)
        self._words = sorted(self._places)
        self.span = (0, max(0, len(self._said) - 1))
        self._embedded = _embed(embedder, self._said) if embedder else None

    def __call__(self, words: str, limit: int) -> Sequence[Passage]:
        """Return the passages that fit some words best, at most ``limit``, the best first."""
        return find_passages(self, words, limit)

    def look_up(self, wanted: Sequence[Terms], most: int) -> list[list[int]]:
        """Return for each group of terms the numbers of messages that have all, newest first."""
        found = [set.intersection(*map(self.numbers_of, terms)) for terms in wanted]
        return [sorted(numbers, reverse=True)[:most] for numbers in found]

    def last_named(self, file: str) -> int:
        """Return the number of the newest message that names a file, 0 if none does."""
        said = ((one.seq, part) for one in reversed(self._said) for part in one.parts)
        return next((seq for seq, part in said if file in part.text), 0)

    def nearest(self, question: str, most: int) -> Sequence[Near]:
        """Return the embedded passages nearest to a question; () without an embedder."""
        return self._embedded.nearest(question, most) if self._embedded else ()

    def read(self, numbers: Sequence[int]) -> list[SearchedMessage]:
        """Return these messages and those next to them."""
        wanted = {number + step for number in numbers for step in BESIDE}
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


def _embed(embedder: "Embedder", said: Iterable[SearchedMessage]) -> "Embedded":
    from condense.recall.meanings import Embedded  # noqa: PLC0415 - needs NumPy

    embedded = [(one.number, embedded_passages(one.parts)) for one in said]
    return Embedded(embedder, {(one, at): text for one, own in embedded for at, text in own})
