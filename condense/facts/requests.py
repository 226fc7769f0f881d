"""What the user asked for, said and answered, and which of it later words replace."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from condense.facts.cues import REPLACEMENTS
from condense.facts.excerpt import shortened
from condense.facts.ledger import Request
from condense.facts.plain import estimate, one_line
from condense.facts.sentences import replaces, sentences

SHORT = 8  # tokens; such an answer may say nothing without its question
QUOTE = 120  # characters of a question, an option, or words that replace others
OPTIONS = 3
_ASKED = 8_000  # characters at the end of a reply, or the beginning of a request
_QUESTION = re.compile(r"[?？؟]")
_LABEL = re.compile(r"(?<!\w)(?:\d{1,2}|[A-Za-z])(?!\w)")
# How many sentences that replace something are looked at, and how many requests for each.
_LATER, _EARLIER = 8, 100
_WORD = re.compile(r"\w+")
_STEM, _LEAST = 6, 4  # characters of a word: what is compared, and below what it says little
# Words that two sentences about the same have in common: two, and a third of the older one's; of
# brief sentences one is enough.
_SHARED, _OF_OLDER, _BRIEF = 2, 1 / 3, 4


class Requests:
    """The user's words, each once, the newest last."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[tuple[str, str], Request] = {}

    def hear(self, text: str, *, reply: str = "", to: str = "") -> None:
        """Note what the user said to a ``reply``, or in the result of the call ``to``."""
        if not to and estimate(text) <= SHORT and not _QUESTION.search(text):
            to = question_in(reply, text)
        self._mark_replaced(text)
        self._renew(Request(shortened(text), to))

    def carry(self, earlier: Iterable[Request]) -> None:
        """Take over the requests of an earlier ledger, oldest first."""
        for request in earlier:
            known = self._known.get((request.text, request.to), request)
            self._renew(replace(request, replaced=request.replaced or known.replaced))

    def newest(self) -> tuple[Request, ...]:
        """Return them newest first."""
        return tuple(reversed(self._known.values()))

    def _renew(self, request: Request) -> None:
        self._known.pop((request.text, request.to), None)
        self._known[request.text, request.to] = request

    def _mark_replaced(self, text: str) -> None:
        """Mark the request that each sentence says it replaces, if one is about the same."""
        for sentence in islice(filter(replaces, sentences(text)), _LATER):
            found = max(
                (
                    (_likeness(sentence, old), -age, key)
                    for age, key in enumerate(islice(reversed(self._known), _EARLIER))
                    if key[0] != text
                    for old in _first_sentences(key[0])
                ),
                default=(0, 0, ("", "")),
            )
            if found[0]:
                quote = one_line(sentence, QUOTE)
                self._known[found[2]] = replace(self._known[found[2]], replaced=quote)


def question_in(reply: str, answer: str) -> str:
    """Return the last line that asks, and the options that a short answer names by their labels."""
    lines = [line.strip() for line in reply[-_ASKED:].split("\n") if line.strip()]
    asked = [line for line in lines if _QUESTION.search(line)][-1:]
    labels = _LABEL.findall(answer)
    options = {_label_of(line): line for line in lines if line not in asked}
    chosen = [options[label] for label in dict.fromkeys(labels) if label in options][:OPTIONS]
    return " / ".join(one_line(line, QUOTE) for line in (*chosen, *asked))


def _label_of(line: str) -> str:
    """Return the label of an option, as in ``**B)** another way``; a space is no label."""
    found = _LABEL.search(line[:12])
    return (
        found[0] if found and line[found.end() : found.end() + 1] in {".", ")", ":", "*"} else " "
    )


@lru_cache(_EARLIER)
def _first_sentences(text: str) -> tuple[str, ...]:
    return tuple(islice(sentences(text[:_ASKED]), 2 * _LATER))


def _likeness(sentence: str, old: str) -> int:
    """Return how many words both have in common; 0 where that may be chance."""
    new_words, old_words = _content(sentence), _content(old)
    shared = len(new_words & old_words)
    is_alike = shared >= _SHARED and shared >= _OF_OLDER * len(old_words)
    is_brief = max(len(new_words), len(old_words)) <= _BRIEF
    return shared if is_alike or is_brief else 0


@lru_cache(1_000)
def _content(sentence: str) -> frozenset[str]:
    """Return the words that a sentence is about; of scripts without spaces, pairs of signs."""
    found: set[str] = set()
    for word in _WORD.findall(sentence.casefold()):
        if word.isascii() or not any("\u2e80" <= sign <= "\uffdc" for sign in word):
            if len(word) >= _LEAST and word not in REPLACEMENTS.words:
                found.add(word[:_STEM])
        else:
            found.update(word[at : at + 2] for at in range(len(word) - 1))
    return frozenset(found)
