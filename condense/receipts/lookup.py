"""Many strings looked up in one text, which is read once however many they are."""

import re
from collections.abc import Mapping, Sequence

_WORD = re.compile(r"\w+")
_INNER_WORD = re.compile(r"(?<=\W)\w+(?=\W)")
# Places; comparing at more of them takes longer than one more search of the text.
FEW = 100


def stand_in(text: str, needles: Sequence[tuple[str, bool]]) -> list[bool]:
    """Return for each string whether it stands in the text, where it says so only as whole words.

    Each is compared at the places of the rarest of its words. Only what has no word that must
    stand in the text for itself, and no rare one, is searched for from the beginning.
    """
    words = [_words(needle, whole=whole) for needle, whole in needles]
    places: dict[str, list[int]] = {word: [] for found in words for word in found}
    for match in _WORD.finditer(text):
        if (known := places.get(match[0])) is not None:
            known.append(match.start())
    starts = (_starts(found, places) for found in words)
    return [
        _search(needle, text, whole=whole)
        if at is None
        else any(_stands_at(start, needle, text, whole=whole) for start in at)
        for (needle, whole), at in zip(needles, starts, strict=True)
    ]


def _words(needle: str, *, whole: bool) -> dict[str, int]:
    """Return the words that stand for themselves wherever the string does, with their offsets.

    At an end of a string that need not be whole words, there may be a part of a word.
    """
    return {word[0]: word.start() for word in (_WORD if whole else _INNER_WORD).finditer(needle)}


def _starts(words: Mapping[str, int], places: Mapping[str, Sequence[int]]) -> Sequence[int] | None:
    """Return where a string with these words may begin, None where that is in too many places."""
    rarest = min(words, key=lambda word: len(places[word]), default=None)
    if rarest is None or len(places[rarest]) > FEW:
        return None
    return [place - words[rarest] for place in places[rarest]]


def _search(needle: str, text: str, *, whole: bool) -> bool:
    start = text.find(needle)
    while start >= 0 and not _stands_at(start, needle, text, whole=whole):
        start = text.find(needle, start + 1)
    return start >= 0


def _stands_at(start: int, needle: str, text: str, *, whole: bool) -> bool:
    if start < 0 or not text.startswith(needle, start):
        return False
    end = start + len(needle)
    return not whole or not (_is_word(text[start - 1 : start]) or _is_word(text[end : end + 1]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
