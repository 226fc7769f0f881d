"""Pieces: the passages into which messages are cut, to be ranked and embedded."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from condense.recall.speakers import Part

# Bytes of a passage: some 300 tokens in any script.
PASSAGE = 1_200
# Passages of a message that are embedded; a longer one is a log, or a book.
MOST_EMBEDDED = 60
_ENDS = ("\n\n", "\n", ". ", "。", "？", "؟ ", "! ", "? ", " ")


class Near(NamedTuple):
    """A passage near to a question in meaning: the numbers of its message and its own."""

    number: int
    passage: int
    likeness: float


def embedded_passages(parts: Sequence[Part]) -> list[tuple[int, str]]:
    """Return the numbers and texts of a message's passages that are embedded: prose alone.

    With the message, a number names a passage as long as nothing of the message is forgotten.
    """
    prose = [text for part in parts if part.is_prose for text in cut(part.text)]
    return [(number, one) for number, one in enumerate(prose[:MOST_EMBEDDED]) if one.strip()]


def cut(text: str) -> Iterator[str]:
    """Yield a text in passages, cut at the end of a paragraph, a sentence or a word."""
    size = len(text.encode(errors="replace"))
    if size <= PASSAGE * 1.5:
        yield text
        return
    most = max(1, PASSAGE * len(text) // size)
    start = 0
    while start < len(text):
        end = start + most
        if end < len(text):
            ends = [text.rfind(mark, start + most // 2, end) + len(mark) for mark in _ENDS]
            end = next((at for at, mark in zip(ends, _ENDS, strict=True) if at >= len(mark)), end)
        yield text[start:end]
        start = end
