"""Many strings looked up in one text, which is read once however many they are."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_INNER_WORD = re.compile(r"(?<=\W)\w+(?=\W)")


def stand_in(text: str, needles: Sequence[tuple[str, bool]]) -> list[bool]:
    """Return for each string whether it stands in the text, where it says so only as whole words.

    Each is compared at the places of one of its words. Only what has no word that must stand in
    the text for itself is searched for from the beginning.
    """
    anchors = [_anchor(needle, whole=whole) for needle, whole in needles]
    places: dict[str, list[int]] = {word: [] for word, _ in anchors}
    for match in _WORD.finditer(text):
        if (found := places.get(match[0])) is not None:
            found.append(match.start())
    return [
        any(_stands_at(place - offset, needle, text, whole=whole) for place in places[word])
        if word
        else _search(needle, text, whole=whole)
        for (needle, whole), (word, offset) in zip(needles, anchors, strict=True)
    ]


def _anchor(needle: str, *, whole: bool) -> tuple[str, int]:
    """Return the longest word that stands for itself wherever the string does, and its offset.

    At an end of a string that need not be whole words, there may be a part of a word.
    """
    words = (_WORD if whole else _INNER_WORD).finditer(needle)
    longest = max(words, key=lambda word: word.end() - word.start(), default=None)
    return (longest[0], longest.start()) if longest else ("", 0)


def _stands_at(start: int, needle: str, text: str, *, whole: bool) -> bool:
    if start < 0 or not text.startswith(needle, start):
        return False
    end = start + len(needle)
    return not whole or not (_is_word(text[start - 1 : start]) or _is_word(text[end : end + 1]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _search(needle: str, text: str, *, whole: bool) -> bool:
    if not whole:
        return needle in text
    return re.search(rf"(?<!\w){re.escape(needle)}(?!\w)", text) is not None
