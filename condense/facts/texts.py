"""Texts of messages, in plain characters and in tokens, and words looked up in them."""

import html
import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from typing import Any

from condense.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock
from condense.recall.words import is_unspaced

BYTES_PER_TOKEN = 4
GAP = "[…]"  # stands where words are left out
# Shares of a shortened text: its beginning, up to so many characters, and its end, which may have
# the question. The rest is lines of lists and figures between them, or more of the beginning.
HEAD_SHARE, HEAD_CHARS, END_SHARE = 0.75, 1_500, 0.15
SHORTEST_CHARS = 40  # less of a text says nothing
# Anything a reader may take for the end of a line, and what no line should hold.
_BREAKS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]+")
_END = re.compile(r"[.!?…؟۔।][\"'”’»)\]*_]*+(?=\s)|[。！？]|\n")
_LINE = re.compile(r"[^\n]+")
# A line of a list, a heading, or a line with a figure that is no code.
_TELLING = re.compile(r"\s*(?:[-*+•#]+|\d{1,3}[.)]|\[[ xX]\])\s|[^|{}=;<>\n]*\d[^|{}=;<>\n]*\Z")
# "1." begins a sentence, it is none. One goes on behind an initial, a title, or a day of a month.
_LABEL = re.compile(r"\s*\W?\d{1,2}[.)]")
_SHORT = re.compile(
    r"(?<!\w)(?:(?!I\b)[^\W\d_a-zà-ÿ]|Dra?|Mr|Mrs|Ms|Mme|Prof|Dott|Sra?|Srta|Sig|Ing|St|[Ss]tr|Ave?|Avda"
    r"|[Uu]l|[Nn]r|[Tt]el|Cad|Sok|Mah|ca|bzw|[\u0423\u0443]л|пер|кв|корп|тел|डॉ"
    r"|(?:[aAiI]m|[dD](?:e[mnrs]|ie|as)|[vV]om|[zZ]u[mr]|[aA]b|[bB]is|[sS]eit) \d{1,2})\.\Z"
)
_SHORT_CHARS = 8
_MONTH = re.compile(r"\d\. ?(?:J[aäu]n|Feb|M(?:ärz|ai)|Apr|Jul|Aug|Sep|O[kc]t|Nov|De[zc])")
_ESCAPED = re.compile(r"(?<!\\)\\++[nrt]")
# The literal in front is looked for at the speed of a plain search.
_APART = re.compile(r" (?=[%‰€$£°])(?<=\d )")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))(?<=\d,)")
# Quotes and marks of emphasis part nothing, and neither do signs that nobody sees; there are
# several dashes.
_QUOTES = "\"'`*\\\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u00ad\u200b"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
_WRITTEN_SIGNS = str.maketrans(_DASHES, "-" * len(_DASHES), _QUOTES)


class Shown:
    """A text in which facts are looked up, in any way of writing them."""

    def __init__(self, text: str) -> None:
        self.text = plain(text)

    def has(self, text: str) -> bool:
        """Return True if these words stand there; the first and last may be parts of others."""
        wanted = plain(text)
        return bool(wanted) and wanted in self.text

    def says(self, name: str) -> bool:
        """Return True if a name stands there, and is no part of a longer one."""
        return any(True for _ in self.places(name))

    def places(self, name: str) -> Iterator[int]:
        """Yield each place of a name that is no part of a longer one."""
        wanted = plain(name)
        start = self.text.find(wanted) if wanted else -1
        while start >= 0:
            if not (self._joins(start) or self._joins(start + len(wanted))):
                yield start
            start = self.text.find(wanted, start + len(wanted))

    def _joins(self, at: int) -> bool:
        """Return True if the characters before and after a place belong to one word."""
        return 0 < at < len(self.text) and _is_word(self.text[at - 1]) and _is_word(self.text[at])


def _is_word(character: str) -> bool:
    return character == "_" or (character.isalnum() and not is_unspaced(character))


def plain(text: str) -> str:
    """Return the text in one spelling, to be compared with others.

    It has no capitals, escapes, quotes or emphasis, no commas between thousands, no white space
    before a unit's sign, one form of each letter and dash, and single spaces.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "\\" in text:
        text = _ESCAPED.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    text = text.casefold()
    if text.isascii():
        text = text.translate(_WRITTEN_SIGNS)
    else:
        # Other texts are translated ten times as slowly.
        for sign, written in _WRITTEN_SIGNS.items():
            text = text.replace(chr(sign), chr(written) if written else "")
    text = text.strip()
    if not text.isalnum():
        text = _APART.sub("", " ".join(text.split()))
    return _THOUSANDS.sub("", text) if "," in text else text


def plain_text(messages: Iterable[Message]) -> str:
    """Return all that the messages say: texts, tool calls' arguments and tool results."""
    texts: list[str] = []
    for message in messages:
        for block in message.blocks:
            match block:
                case TextBlock(text):
                    texts.append(text)
                case ToolUseBlock(_, name, input_):
                    texts += (name, *leaves(input_))
                case ToolResultBlock():
                    texts.append(result_text(block))
    return "\n".join(texts)


def result_text(result: ToolResultBlock) -> str:
    """Return the text of a tool's answer."""
    if isinstance(result.content, tuple):
        return "\n".join([item.text for item in result.content if isinstance(item, TextBlock)])
    return result.content or ""


def leaves(value: Any, but: Container[str] = ()) -> Iterator[str]:
    """Yield all that a call's arguments say, those left out that are called as ``but`` has it."""
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                yield from leaves(item, but) if key not in but else ()
        case list() | tuple():
            for item in value:
                yield from leaves(item, but)
        case None:
            return
        case _:
            yield str(value)


def estimate(text: str) -> float:
    """Return a text's tokens, estimated without a vocabulary.

    Four bytes are a token: vocabularies are made of bytes, so this holds for any script, where
    characters differ by a factor of three.
    """
    return len(text.encode(errors="replace")) / BYTES_PER_TOKEN


def one_line(text: str, limit: int) -> str:
    """Return the text without line breaks, cut to ``limit`` characters with an ellipsis."""
    flat = _BREAKS.sub(" ", text[: 2 * limit])
    return flat if len(flat) <= limit and len(text) <= 2 * limit else f"{flat[:limit]}…"


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text, without space around them."""
    start = 0
    for end in _END.finditer(text):
        at = end.end()
        goes_on = (
            _LABEL.fullmatch(text, start, at)
            or _SHORT.search(text, at - _SHORT_CHARS, at)
            or _MONTH.match(text, at - 2)
        )
        if end[0] == "\n" or not goes_on:
            if sentence := text[start:at].strip():
                yield sentence
            start = at
    if rest := text[start:].strip():
        yield rest


def is_telling(line: str) -> bool:
    """Return True for a line of a list, or one with a figure that is no code."""
    return bool(_TELLING.match(line))


def shortened(text: str, tokens: float) -> str:
    """Return a text whole; if it takes more tokens, its beginning, significant lines and end."""
    size = estimate(text)
    if size <= tokens:
        return text
    room = max(SHORTEST_CHARS, int(len(text) * tokens / size) - len(GAP))
    head, end = int(min(HEAD_SHARE * room, HEAD_CHARS)), int(END_SHARE * room)
    left, tail = room - head - end, len(text) - end
    lines = [one.span() for one in _LINE.finditer(text, head, tail) if one[0] != GAP]
    kept: list[tuple[int, int]] = []
    for start, stop in sorted(lines, key=lambda one: not _TELLING.match(text, *one)):
        if (size := stop - start + len(GAP)) <= left:
            kept.append((start, stop))
            left -= size
    parts = [[0, head + left]]
    for start, stop in (*sorted(kept), (tail, len(text))):
        if start <= parts[-1][1] + 1:
            parts[-1][1] = max(stop, parts[-1][1])
        else:
            parts.append([start, stop])
    return f"\n{GAP}\n".join([text[start:stop].strip() for start, stop in parts])
