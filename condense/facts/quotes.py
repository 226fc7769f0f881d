"""Quotes: a few words of a text around a figure or a name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from condense.recall.words import UNSPACED, Term, terms_of

_LETTER = rf"[^\W{UNSPACED}]"  # of a script with spaces between words
# The unit behind a number belongs to it: "212 GB", "40 minutes".
_UNIT = (
    r"(?:[kMGTmnµ]?(?:i?[Bb]|bit|[WVAgmlLsh]|Hz|eV)(?:/s|/h)?|°[CF]|min|sec|px|pt|rows"
    r"|(?:second|minute|hour|day|week|month|year)s?|USD|EUR)(?!\w)"
)
# Hostile texts are as long as others: each part is looked at once.
_NAMED = re.compile(
    r"https?://[^\s<>\"'`)\]]{1,300}"
    r"|(?<=`)[^`\s][^`\n]{0,58}[^`\s](?=`)"
    r"|(?<![\w/])#\d{1,20}\b"
    r"|(?:(?<![\w.-])|(?<!\w)(?=~))[~.]{0,2}/?[\w.-]++(?:/[\w.-]++)++(?<!\d/s)(?<!\d/h)"
    # Whole words with a digit, "_" or an inner capital, hyphens and dots included.
    rf"|(?<!{_LETTER})(?<![.-])(?=[A-Za-z_])(?:{_LETTER}|[.-](?=\w)){{2,80}}+"
    rf"|(?<!{_LETTER})(?<![.,:/-])[$€£¥₹]?\d(?:[\d.,:/-]{{0,20}}\d)?(?:[%€$£]|[A-Za-zµ]{{1,3}})?"
    rf"(?!{_LETTER}|[/-])"
    rf"(?: ?{_UNIT}| [%€$£])?"
)
_NAME = re.compile(
    r"(?=\D*\d)[^\W\d_].*|\w+_\w.*|[a-z]\w*[a-z][A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[\w-]+\.[a-z]{1,4}"
)
_FIGURE = re.compile(rf"[$€£¥₹]?\d[\d.,:/-]*\d.*|[$€£¥₹]\d|\d ?(?:{_UNIT}|[%€$£])")
_PIECE = re.compile(rf"[{UNSPACED}]{{1,2}}|[^\s{UNSPACED}]+")
_STOP = re.compile(r"[.!?…؟۔।](?=\s|\Z)|[。！？]|[\n;]")
_PART = re.compile(rf"{_STOP.pattern}|,(?=\s)|[\uff0c、،()\uff08\uff09]")
SHORTEST_CHARS, LONGEST_CHARS = 3, 100  # of a name; a longer URL is cut
FEWEST_WORDS, MOST_WORDS, BESIDE_WORDS = 3, 10, 4  # of a quote; on each side in a long sentence
SENTENCE_CHARS = 200  # on each side that are searched for the ends of the sentence
TYPED_CHARS = 600  # numbers of a longer message may be a log's
QUOTED_CHARS_READ = 100_000  # of a message
MOST_FIGURES = 1_000  # of a message


@dataclass(frozen=True, slots=True)
class Quote:
    """Some words of a text and the figure or name that they are quoted for."""

    text: str
    figure: str

    @property
    def key(self) -> str:
        """The identity: a name, but a figure only with the words around it."""
        return f"{self.figure}: {self.text}" if _FIGURE.fullmatch(self.figure) else self.figure

    @property
    def terms(self) -> list[Term]:
        """The significant words around it, without other figures and names."""
        around = self.text.replace(self.figure, " ", 1)
        for _, figure in _figures_in(around):
            around = around.replace(figure, " ", 1)
        return [term for term in terms_of(around) if term.kind not in ("common", "sign")]

    @property
    def spellings(self) -> tuple[str, ...]:
        """The spellings of the figure: "40 minutes", "40minutes", "40-minute"."""
        number, _, unit = self.figure.rpartition(" ")
        if not (number and _FIGURE.fullmatch(self.figure)):
            return (self.figure,)
        return self.figure, f"{number}{unit}", f"{number}-{unit.removesuffix('s')}"


def quotes_in(text: str, *, most_numbers: int = TYPED_CHARS) -> Iterator[Quote]:
    """Yield a quote for each name, once, and for each figure; no numbers of a longer text."""
    found: dict[str, Quote] = {}
    for at, figure in _figures_in(text):
        if figure in found or len(found) == MOST_FIGURES:
            continue
        if len(text) > most_numbers and _FIGURE.fullmatch(figure):
            continue
        quoted = Quote(quote(text, at, at + len(figure)), figure)
        if len(_PIECE.findall(quoted.text)) >= FEWEST_WORDS:
            found.setdefault(quoted.key, quoted)
    yield from found.values()


def _figures_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield the figures and names in a text, each after its start."""
    for match in _NAMED.finditer(text, 0, QUOTED_CHARS_READ):
        figure = match[0].rstrip(".,:;!?()-/")[:LONGEST_CHARS]
        is_quoted = (
            match[0].startswith(("http", "#")) or text[match.start() - 1 : match.start()] == "`"
        )
        is_name = is_quoted or "/" in figure or _NAME.fullmatch(figure)
        if _FIGURE.fullmatch(figure) or (len(figure) >= SHORTEST_CHARS and is_name):
            yield match.start(), figure


def quote(text: str, start: int, end: int) -> str:
    """Return the part of the sentence around a place in a text, or some words of a long one."""
    quoted = text[start:end]
    for stop in (_PART, _STOP):
        first, last = max(0, start - SENTENCE_CHARS), min(len(text), end + SENTENCE_CHARS)
        first = max([first, *[one.end() for one in stop.finditer(text, first, start)]])
        found = stop.search(text, end, last)
        last = found.start() if found else last
        before = [piece.start() for piece in _PIECE.finditer(text, first, start)]
        after = [piece.end() for piece in _PIECE.finditer(text, end, last)]
        if len(before) + len(after) >= MOST_WORDS:
            before, after = before[-BESIDE_WORDS:], after[:BESIDE_WORDS]
        quoted = text[min([start, *before]) : max([end, *after])]
        if len(_PIECE.findall(quoted)) >= FEWEST_WORDS:
            break
    return quoted.strip(" \t-*,:")
