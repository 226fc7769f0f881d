"""Many strings looked up in one text, which is read once however many they are."""

import html
import re
import unicodedata
from collections.abc import Sequence

# Scripts without spaces part no words: each of their signs stands for itself.
_SIGNS = "\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SIGNS}]|[^\W{_SIGNS}]+")
# Places of a word; comparing at more of them takes longer than one more search of the text.
FEW = 100
MOST = 16  # places of a string that are told


def find(text: str, needles: Sequence[tuple[str, bool]]) -> list[Sequence[int]]:
    """Return for each string where it begins, where it says so only as whole words.

    Of many places the first are told, of an empty string none. Each is compared at the places of
    the rarest of its words; only what has no word that must stand in the text for itself, and no
    rare one, is searched for from the beginning.
    """
    words = [_words(needle, whole=whole) for needle, whole in needles]
    places: dict[str, list[int]] = {word: [] for found in words for word in found}
    for match in _WORD.finditer(text):
        if (known := places.get(match[0])) is not None:
            known.append(match.start())
    found: list[Sequence[int]] = []
    for (needle, whole), inside in zip(needles, words, strict=True):
        rarest = min(inside, key=lambda word: len(places[word]), default=None)
        if rarest is None or len(places[rarest]) > FEW:
            found.append(_search(needle, text, whole=whole))
        else:
            starts = [place - inside[rarest] for place in places[rarest]]
            at = [one for one in starts if _stands_at(one, needle, text, whole=whole)]
            found.append(at[:MOST])
    return found


def _words(needle: str, *, whole: bool) -> dict[str, int]:
    """Return the words that stand for themselves wherever the string does, with their offsets.

    At an end of a string that need not be whole words, there may be a part of a word.
    """
    end = len(needle)
    return {
        word[0]: word.start()
        for word in _WORD.finditer(needle)
        if whole or (word.start() and word.end() < end) or not _is_word(word[0][0])
    }


def _search(needle: str, text: str, *, whole: bool) -> Sequence[int]:
    found: list[int] = []
    start = text.find(needle) if needle else -1
    while start >= 0 and len(found) < MOST:
        if _stands_at(start, needle, text, whole=whole):
            found.append(start)
        start = text.find(needle, start + 1)
    return found


def _stands_at(start: int, needle: str, text: str, *, whole: bool) -> bool:
    if start < 0 or not text.startswith(needle, start):
        return False
    end = start + len(needle)
    return not whole or not (_joins(text, start) or _joins(text, end))


def _joins(text: str, at: int) -> bool:
    """Whether the characters before and after a place belong to one word."""
    return 0 < at < len(text) and _is_word(text[at - 1]) and _is_word(text[at])


def _is_word(character: str) -> bool:
    if character == "_":
        return True
    return character.isalnum() and not (
        "\u2e80" <= character <= "\u9fff"
        or "\uac00" <= character <= "\ud7ff"
        or "\uf900" <= character <= "\ufaff"
    )


_ESCAPED = re.compile(r"(?<!\\)\\++[nrt]")
_APART = re.compile(r"(?<=\d) (?=[%\u2030\u20ac$\u00a3\u00b0])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Quotes and marks of emphasis part nothing, and neither do signs that nobody sees; there are
# several dashes.
_QUOTES = "\"'`*\\\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u00ad\u200b"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
_WRITTEN_SIGNS = str.maketrans(_DASHES, "-" * len(_DASHES), _QUOTES)


def plain(text: str) -> str:
    """Return the text without what does not count as a difference.

    That is upper and lower case, forms of the same letter, escapes, quotes, emphasis, kinds of
    dashes, commas between thousands, and what white space there is, if any before a unit's sign.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "\\" in text:
        text = _ESCAPED.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    text = text.casefold().translate(_WRITTEN_SIGNS).strip()
    if not text.isalnum():
        text = _APART.sub("", " ".join(text.split()))
    return _THOUSANDS.sub("", text) if "," in text else text
