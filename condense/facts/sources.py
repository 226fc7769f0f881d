"""Sources: the messages that support each sentence of a summary."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from heapq import nsmallest
from itertools import islice

from condense.budget.language import language_of
from condense.facts.quotes import quotes_in
from condense.facts.rules import RULE_CHARS_READ, is_rule, may_back_rule
from condense.facts.texts import Shown, plain_text, sentences
from condense.messages import Message
from condense.recall.ranking import MemoryRecall
from condense.recall.words import Term, terms_in, terms_of

MOST_SENTENCES, MOST_SOURCES = 1_000, 3
MOST_BACKING = 20  # sources that are searched for a rule
FEWEST_WORDS = 2  # fewer state nothing
# The share of a sentence's words that its sources have; a rule is backed by a single sentence.
SUPPORTED, RULE_SUPPORTED = 0.4, 0.5
OF_BEST = 0.6  # of the words that the best source has, for another one to count
# The kinds of terms that count, and how much.
_WEIGHTS = {"word": 10, "stem": 10, "pair": 5, "sign": 2}
_ROLES = re.compile(r"\b(?:user|agent|assistant)(?:['’]s)?\b", re.IGNORECASE)
# A list mark, a number or a title before what a line states.
_LABEL = re.compile(r"[^\w\"'“]*(?:\d{1,3}[.)])?\W*(?:[^\s:：.!?][^:：.!?]{0,40}(?:: |：|:\*\* ))?")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a summary, its start there, and the ids of its sources, the best first.

    An unsupported one has a figure, a rule or words that no message has. A heading states nothing:
    it has no sources and is not unsupported.
    """

    text: str
    start: int
    sources: tuple[str, ...] = ()
    unsupported: bool = False


def sources_of(summary: str, hidden: Sequence[Message]) -> list[Statement]:
    """Return the sentences of a summary in order, each with the messages that support it."""
    originals, end = _Originals(hidden, language_of(summary)), 0
    found: list[Statement] = []
    for text in islice(sentences(summary), MOST_SENTENCES):
        start = summary.index(text, end)
        end = start + len(text)
        found.append(originals.judge(text, start))
    return found


class _Originals:
    """The hidden messages by their words; summaries and markers among them are sources, too."""

    def __init__(self, hidden: Sequence[Message], language: str) -> None:
        made = dict.fromkeys(("condense_id", "truncation_id", "clear_id"))
        self._ids = [one.id for one in hidden]
        self._index = MemoryRecall([one.with_tags(**made) for one in hidden])
        self._texts = [plain_text([one]) for one in hidden]
        self._language = language or "en"
        self._shown = cache(lambda number: Shown(self._texts[number]))
        # Sentences of a summary are about the same things.
        self._numbers_of = cache(self._index.numbers_of)
        self._sentences = cache(lambda number: [*sentences(self._texts[number][:RULE_CHARS_READ])])
        # Words of another language than the originals' stand in none of them.
        self._is_same = not language or language in map(language_of, self._texts)

    def judge(self, text: str, start: int) -> Statement:
        """Return a sentence of a summary with its sources."""
        label = _LABEL.match(text)
        said = text[label.end() :] if label else text
        terms = [one for one in terms_of(_ROLES.sub(" ", said)) if one.kind in _WEIGHTS]
        figures, sets_rule = [one.figure for one in quotes_in(said)], is_rule(said, self._language)
        states = len(terms) >= FEWEST_WORDS or figures or (terms and sets_rule)
        if not states or said.endswith((":", "\uff1a")):
            return Statement(text, start)
        sources, share = self._sources(terms)
        unsupported = self._is_same and share < SUPPORTED
        if sets_rule:
            backing = [*islice((one for one in sources if self._backs(one, terms)), MOST_SOURCES)]
            sources, unsupported = backing or sources, self._is_same and not backing
        first = sources[:MOST_SOURCES]
        ids = tuple([self._ids[one] for one in first])
        unsupported = unsupported or not all(self._is_said(one, first) for one in figures)
        return Statement(text, start, ids, unsupported)

    def _is_said(self, figure: str, first: Sequence[int]) -> bool:
        """Return True if any message says a figure; its sources are asked ``first``."""
        return any(self._shown(one).says(figure) for one in first) or self._all.says(figure)

    @cached_property
    def _all(self) -> Shown:
        return Shown("\n".join(self._texts))

    def _sources(self, terms: Sequence[Term]) -> tuple[list[int], float]:
        """Return the messages with most of the terms, and the share of terms that the best has."""
        found = [(self._numbers_of(term), _WEIGHTS[term.kind]) for term in terms]
        found = sorted([one for one in found if one[0]], key=lambda one: len(one[0]))
        scores, best, left = dict[int, int](), 0, sum([weight for _, weight in found])
        for numbers, weight in found:
            # A message that has none of the rarer words can't come near the best any more.
            if left < OF_BEST * best:
                break
            left -= weight
            for number in numbers.difference(scores):
                scores[number] = sum([worth for those, worth in found if number in those])
            best = max(best, *map(scores.__getitem__, numbers))
        near = [number for number, score in scores.items() if score >= OF_BEST * best]
        ranked = nsmallest(MOST_BACKING, near, key=lambda one: (-scores[one], one))
        return ranked, best / (_sum(terms) or 1)

    def _backs(self, number: int, terms: Sequence[Term]) -> bool:
        """Return True if one sentence of a message may be the source of a rule."""
        least = RULE_SUPPORTED * _sum(terms)
        return any(
            _sum(terms_in(terms, sentence)) >= least and may_back_rule(sentence, self._language)
            for sentence in self._sentences(number)
        )


def _sum(terms: Iterable[Term]) -> int:
    return sum([_WEIGHTS[term.kind] for term in terms])
