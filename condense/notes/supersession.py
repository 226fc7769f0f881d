"""Which earlier words a sentence says it replaces, told by the words that both have in common."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

from condense.notes.cues import REPLACEMENTS
from condense.notes.sentences import replaces, sentences

# How many sentences that replace something are looked at, and how many requests for each.
LATER, EARLIER = 8, 100
_LOOKED_AT = 8_000  # characters at the beginning of a request
_WORD = re.compile(r"\w+")
_STEM, _LEAST = 6, 4  # characters of a word: what is compared, and below what it says little
# Words that two sentences about the same have in common: two, and a third of the older one's; of
# brief sentences one is enough.
_SHARED, _OF_OLDER, _BRIEF = 2, 1 / 3, 4


def replacing(text: str) -> list[str]:
    """Return the sentences that say they take the place of earlier ones."""
    return [*islice(filter(replaces, sentences(text)), LATER)]


def most_alike[Key](sentence: str, texts: Iterable[tuple[Key, str]]) -> Key | None:
    """Return the key of the text that the sentence is most likely about, the first of equals."""
    best, most = None, 0
    for key, text in islice(texts, EARLIER):
        likeness = max((_likeness(sentence, old) for old in _sentences(text)), default=0)
        if likeness > most:
            best, most = key, likeness
    return best


@lru_cache(EARLIER)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(islice(sentences(text[:_LOOKED_AT]), 2 * LATER))


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
