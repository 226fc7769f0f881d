"""Sources: the messages that support each sentence of a summary."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from condense.budget.language import language_of
from condense.facts.quotes import quotes_in
from condense.facts.rules import READ_CHARS, is_rule, may_back_rule
from condense.facts.texts import Shown, plain_text, sentences
from condense.messages import Message
from condense.recall.ranking import MemoryRecall
from condense.recall.words import Term, fold, terms_of

MOST_SENTENCES, MOST_SOURCES = 1_000, 3
MOST_MESSAGES = 10_000  # that have one word
MOST_BACKING = 20  # sources that are searched for a rule
FEWEST_WORDS = 2  # fewer state nothing
# The share of a sentence's words that its sources have; a rule is backed by a single sentence.
SUPPORTED, RULE_SUPPORTED = 0.4, 0.5
OF_BEST = 0.6  # of the words that the best source has, for another one to count
# The kinds of terms that count, and how much.
_WEIGHTS = {"word": 1.0, "stem": 1.0, "pair": 0.5, "sign": 0.2}
# A list mark, a number or a title before what a line states.
_LABEL = re.compile(r"[^\w\"'“]*(?:\d{1,3}[.)])?\W*(?:[^\s:：.!?][^:：.!?]{0,40}(?:: |：|:\*\* ))?")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a summary, where it begins there, and the ids of its sources, the best first.

    An unsupported one has a figure, a rule or words that no message has. A heading states nothing:
    it has no sources and is not unsupported.
    """

    text: str
    start: int
    sources: tuple[str, ...] = ()
    unsupported: bool = False


def sources_of(summary: str, hidden: Sequence[Message]) -> list[Statement]:
    """Return the sentences of a summary in order, each with the messages that support it."""
    originals, language = _Originals(hidden), language_of(summary)
    found: list[Statement] = []
    end = 0
    for text in sentences(summary):
        start = summary.index(text, end)
        end = start + len(text)
        found.append(originals.judge(text, start, language))
        if len(found) == MOST_SENTENCES:
            break
    return found


class _Originals:
    """What was hidden, by its words; earlier summaries and markers are sources like others."""

    def __init__(self, hidden: Sequence[Message]) -> None:
        plain = [
            one.with_tags(condense_id=None, truncation_id=None, clear_id=None) for one in hidden
        ]
        self._ids = [one.id for one in hidden]
        self._index = MemoryRecall(plain)
        self._texts = [plain_text([one]) for one in hidden]
        self._all = Shown("\n".join(self._texts))
        self._languages = {*map(language_of, self._texts)}

    def judge(self, text: str, start: int, language: str) -> Statement:
        """Return a sentence of a summary in some language with its sources."""
        label = _LABEL.match(text)
        said = text[label.end() :] if label else text
        terms = [term for term in terms_of(said) if term.kind in _WEIGHTS]
        figures = [one.figure for one in quotes_in(said)]
        if said.endswith((":", "：")) or (len(terms) < FEWEST_WORDS and not figures):
            return Statement(text, start)
        sources, share = self._sources(terms)
        # Words of another language than the originals' stand in none of them.
        is_same = not language or language in self._languages
        unsupported = not all(map(self._all.says, figures)) or (is_same and share < SUPPORTED)
        if is_rule(said, language or "en"):
            backing = [
                one for one in sources[:MOST_BACKING] if self._backs(one, terms, language or "en")
            ]
            sources, unsupported = backing or sources, unsupported or (is_same and not backing)
        ids = [self._ids[one] for one in sources[:MOST_SOURCES]]
        return Statement(text, start, tuple(ids), unsupported)

    def _sources(self, terms: Sequence[Term]) -> tuple[list[int], float]:
        """Return the messages with most of the terms, and the share of terms that the best has."""
        found = self._index.look_up([(term,) for term in terms], MOST_MESSAGES)
        scores = Counter[int]()
        for term, numbers in zip(terms, found, strict=True):
            scores.update(dict.fromkeys(numbers, _WEIGHTS[term.kind]))
        best = max(scores.values(), default=0)
        ranked = sorted(scores, key=lambda number: (-scores[number], number))
        total = sum([_WEIGHTS[term.kind] for term in terms])
        return [
            one for one in ranked if scores[one] >= OF_BEST * best
        ], best / total if total else 1

    def _backs(self, number: int, terms: Sequence[Term], language: str) -> bool:
        """Return whether one sentence of a message may be the source of a rule."""
        total = sum([_WEIGHTS[term.kind] for term in terms])
        for sentence in sentences(self._texts[number][:READ_CHARS]):
            if may_back_rule(sentence, language):
                folded = fold(sentence)
                has = [_WEIGHTS[term.kind] for term in terms if any(term.places(folded))]
                if sum(has) >= RULE_SUPPORTED * total:
                    return True
        return False
