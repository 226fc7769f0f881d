"""Markdown that is still being written: what is final is rendered once, the rest again and again.

A block is final as soon as the next one begins below it, a fenced code block at its closing fence.
Only whole lines decide that, so a half-written line never closes anything.

What comes out equals :func:`render_markdown` of the whole text, with one exception: a link that
stands before the block with its definition (``[name]: https://…``) stays text.
"""

import re
import time
from dataclasses import dataclass

from chatapp.rendering.blocks import Clock, OpenCode, open_block
from chatapp.rendering.parsing import Environment, render_piece
from chatapp.rendering.sanitizing import replace_unsafe_characters

# Characters: a longer run without a space is no word that anyone waits for.
_LONGEST_WORD = 200

# Spaces, and the scripts that write without them, where every character ends a word.
_WORD_END = re.compile(
    r"[\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7af"
    r"\uf900-\ufaff\uff00-\uffef]"
)


@dataclass(frozen=True, slots=True)
class StreamUpdate:
    """HTML of the blocks that became final, and of the one that is still being written.

    ``code`` is the text of the latter where it is a code block.
    """

    closed: tuple[str, ...]
    open: str
    code: OpenCode | None = None


class MarkdownStream:
    """Renders one text as it arrives, in time about linear in its length."""

    def __init__(self, clock: Clock = time.thread_time) -> None:
        """Begin with an empty text; what takes long by the ``clock`` is shown less often."""
        self._clock = clock
        self._held = ""  # the end of the text, not a whole word yet
        self._line = ""  # whole words of the line that is not complete yet
        self._definitions: Environment = {}
        self._open = open_block("", self._definitions, clock)

    def feed(self, text: str) -> StreamUpdate:
        """Take more text, of any length, and return what it changes."""
        lines, newline, self._line = (self._line + self._take_words(text)).rpartition("\n")
        closed = self._close_blocks(lines + newline) if newline else ()
        return StreamUpdate(closed, self._open.preview(self._line), self._open.code(self._line))

    def finish(self) -> StreamUpdate:
        """Return the rest as final; nothing may be fed afterwards."""
        rest = self._open.text + self._line + replace_unsafe_characters(self._held)
        html = render_piece(rest, self._definitions)
        return StreamUpdate((html,) if html else (), "")

    def _take_words(self, text: str) -> str:
        """Return what is whole words by now, cleaned; the rest waits."""
        text = self._held + text
        end = _end_of_words(text)
        self._held = text[end:]
        return replace_unsafe_characters(text[:end].replace("\r\n", "\n").replace("\r", "\n"))

    def _close_blocks(self, lines: str) -> tuple[str, ...]:
        self._open.add(lines)
        closed = []
        while (end := self._open.find_end()) is not None:
            text = self._open.text
            closed.append(render_piece(text[:end], self._definitions))
            self._open = open_block(text[end:], self._definitions, self._clock)
        return tuple(html for html in closed if html)


def _end_of_words(text: str) -> int:
    """Return how much of the text is whole words; a return waits for its newline."""
    end = len(text)
    while end and not _WORD_END.match(text, end - 1) and len(text) - end < _LONGEST_WORD:
        end -= 1
    if len(text) - end >= _LONGEST_WORD:
        end = len(text)
    return end - 1 if text[:end].endswith("\r") else end
