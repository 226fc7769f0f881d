"""Names: identifiers, hashes and ids that calls, replies and results use."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

# A name counts less with each call after it: half of it is gone after 23. What a result prints
# counts for less; a name that calls or replies use stays a little.
DECAY, PRINTED, EVER = 0.97, 0.25, 0.2
OLDEST_CALLS = 100  # what results print before them has faded
SHORTEST_CHARS, LONGEST_CHARS = 3, 64
_SEARCHED_CHARS = 60_000  # of a text that are looked at
_WORD = re.compile(r"[\w/]+(?:-\d+\b)?")  # with its slashes: a part of a path is no identifier
_ESCAPES = re.compile(r"\\[nrtbf\"']|\\u[0-9a-fA-F]{4}")  # they would grow into the word behind
_ID = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}|[A-Z][A-Z0-9]+-\d+")
_PLURAL = re.compile(r"[A-Z]+s")  # of an abbreviation


def weightiest(texts: Iterable[tuple[int, str, bool]]) -> list[str]:
    """Return the names, first those that weigh most for the room they take.

    Each of the ``texts`` comes with the number of calls after it, and True if a result printed it.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    used: Counter[str] = Counter()
    for age, text, printed in texts:
        names = {} if printed and age > OLDEST_CALLS else _names(text)
        weight = DECAY**age * (PRINTED if printed else 1)
        for name, times in names.items():
            weights[name] += weight * math.log(1 + times)
        used.update(() if printed else names.keys())
    for name, times in used.items():
        weights[name] += EVER * math.log(1 + times)
    return sorted(weights, key=lambda name: (-weights[name] / len(name), name))


def _names(text: str) -> Counter[str]:
    part = text[:_SEARCHED_CHARS]
    if "\\" in part:
        part = _ESCAPES.sub(" ", part)
    return Counter(filter(_is_name, _WORD.findall(part)))


@lru_cache(20_000)  # a session's calls say few words, again and again
def _is_name(word: str) -> bool:
    """Return True for an id, and for a word made as in code: with "_" or inner capitals."""
    if not SHORTEST_CHARS <= len(word) <= LONGEST_CHARS or "/" in word:
        return False
    if _ID.fullmatch(word):
        return True
    if word[0].isdigit() or "-" in word or _PLURAL.fullmatch(word):
        return False
    inner = word[1:]
    return "_" in word.strip("_") or not (word.isupper() or inner == inner.lower())
