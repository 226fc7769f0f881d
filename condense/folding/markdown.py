"""Sections of a Markdown file, found without a grammar and exactly as Roo Code finds them."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from condense.folding.captures import Span

_ATX = re.compile(r"#{1,6}\s+.+")
_UNDERLINE = re.compile(r"(={3,}|-{3,})\s*")
_UNDERLINED = re.compile(r"(?:\s*\t)?[^#<>!\[\]`\t]+[^\n]")


def sections(lines: Sequence[str]) -> list[Span]:
    """Return the rows from each header to the row before the next one."""
    rows = [*_header_rows(lines), len(lines)]
    return [Span(row, following - 1) for row, following in pairwise(rows)]


def _header_rows(lines: Sequence[str]) -> Iterator[int]:
    above = ""
    for row, raw in enumerate(lines):
        line = raw.removesuffix("\r")
        if _ATX.fullmatch(line):
            yield row
        elif _UNDERLINE.fullmatch(line) and _UNDERLINED.fullmatch(above):
            yield row - 1
        above = line
