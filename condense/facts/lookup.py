"""Words and sentences looked up in one text, whatever way they are written."""

import html
import re
import unicodedata

_ESCAPED = re.compile(r"(?<!\\)\\++[nrt]")
_APART = re.compile(r"(?<=\d) (?=[%‰€$£°])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Quotes and marks of emphasis part nothing, and neither do signs that nobody sees; there are
# several dashes.
_QUOTES = "\"'`*\\\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u00ad\u200b"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
_WRITTEN_SIGNS = str.maketrans(_DASHES, "-" * len(_DASHES), _QUOTES)


class Shown:
    """A text in which facts are looked up."""

    def __init__(self, text: str) -> None:
        self.text = plain(text)

    def has(self, text: str) -> bool:
        """Whether these words stand there; the first and last may be parts of others."""
        wanted = plain(text)
        return bool(wanted) and wanted in self.text

    def says(self, name: str) -> bool:
        """Whether a name stands there, and is no part of a longer one."""
        wanted = plain(name)
        start = self.text.find(wanted) if wanted else -1
        while start >= 0 and (self._joins(start) or self._joins(start + len(wanted))):
            start = self.text.find(wanted, start + len(wanted))
        return start >= 0

    def _joins(self, at: int) -> bool:
        """Whether the characters before and after a place belong to one word."""
        return 0 < at < len(self.text) and _is_word(self.text[at - 1]) and _is_word(self.text[at])


def _is_word(character: str) -> bool:
    # Scripts without spaces part no words.
    in_script = "\u2e80" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7ff"
    return character == "_" or (character.isalnum() and not in_script)


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
