"""From the rows that hold definitions to the lines that are shown."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

# Roo Code shows nothing shorter. Here that holds for what has no signature: objects, elements,
# tables. A short function is called as often as a long one, and its line says all about it.
LEAST_ROWS = 4
LONGEST_LINE = 400
CUT = " …"


class Span(NamedTuple):
    """Rows ``first`` to ``last``, from 0; a signature is shown however short it is."""

    first: int
    last: int
    signature: bool = False


def render(spans: Iterable[Span], lines: Sequence[str]) -> str:
    """Return ``START--END | SOURCE LINE`` for each span, rows from 1, no line of source twice."""
    chosen: dict[int, int] = {}
    for span in sorted(spans):
        if span.signature or span.last - span.first + 1 >= LEAST_ROWS:
            chosen[span.first] = max(span.last, chosen.get(span.first, 0))
    return "".join(
        f"{first + 1}--{last + 1} | {_shown(lines[first])}\n" for first, last in chosen.items()
    )


def trimmed(span: Span, lines: Sequence[str]) -> Span:
    """Leave out trailing blank lines, which some grammars count as part of what precedes them."""
    last = min(span.last, len(lines) - 1)
    while last > span.first and not lines[last].strip():
        last -= 1
    return span._replace(last=last)


def _shown(line: str) -> str:
    """Cut what only machines write: a line of minified code would take the whole limit."""
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + CUT
