"""Texts compared as people read them: how something is written is not what it says."""

import html
import re
import unicodedata

_ESCAPED = re.compile(r"(?<!\\)\\++[nrt]")
_APART = re.compile(r"(?<=\d) (?=[%\u2030\u20ac$\u00a3\u00b0])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Quotes and marks of emphasis part nothing, and neither do signs that nobody sees; there are
# several dashes.
_QUOTES = "\"'`*\\\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u00ad\u200b"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
_SIGNS = str.maketrans(_DASHES, "-" * len(_DASHES), _QUOTES)


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
    text = text.casefold().translate(_SIGNS).strip()
    if not text.isalnum():
        text = _APART.sub("", " ".join(text.split()))
    return _THOUSANDS.sub("", text) if "," in text else text
