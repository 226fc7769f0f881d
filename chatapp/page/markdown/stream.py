"""Markdown that is still being written: the open block is rendered anew as it grows.

A block is final as soon as the next one begins below it, a fenced code block at its closing fence.
Only complete lines decide that, so a half-written line never closes anything.

The result equals :func:`render_markdown` of the whole text, with three exceptions: a link that
stands before the block with its definition (``[name]: https://…``) stays text, a number is taken
for the label of a footnote before that is known to come, and a definition that no link names is
left out, for its link may still come.
"""

import re
from html import escape

from markdown_it.token import Token

from chatapp.page.markdown import safe_html
from chatapp.page.markdown.code_colors import read_language
from chatapp.page.markdown.extensions import SPACELESS, widen_fences
from chatapp.page.markdown.footnotes import MAY_COME, NOTES
from chatapp.page.markdown.formulas import UNDECIDED, find_open

# Characters: a longer run without a space is no word that anyone waits for.
_LONGEST_WORD = 200

# Characters: a longer line is none of marks alone.
_LONGEST_MARKS = 200

# Characters: a longer block is read again only when it has grown by a share of its length.
_SMALL = 2_000
_READINGS = 8

# Characters: of a longer block only the beginning is shown before it is complete.
_LARGEST = 60_000

# Spaces, and the scripts that write without them, where every character ends a word.
_WORD_END = re.compile(rf"[\s{SPACELESS}]")

# A fence of Markdown may contain others.
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`\n]*\n)(?![ \t]*[mM][aAdD])|~{3,})([^\n]*)\n")

# A line of these may become a rule, a heading, a list or a table: it is not shown yet.
_UNDECIDED = re.compile(r"[\s>]*+(?:(?:(?<=\s)|[-=*_+#|:~`])[-=*_+#|:~`\s]*+|\d{1,9}[.)]\s*+)")


class OpenCode:
    """A fenced code block that is being written; ``pieces`` of its text are only ever added."""

    def __init__(self, fence: re.Match[str]) -> None:
        mark, self.pieces = fence[1], list[str]()
        self._fence, self._language = fence[0], read_language(fence[2])
        self._line: str | None = ""  # an incomplete line that may be the closing fence
        self._end = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*\n", re.MULTILINE)
        self._may_end = re.compile(rf" {{0,3}}{mark[0]}*[ \t]*")

    def add(self, text: str) -> tuple[str, str] | None:
        """Take more text; once the block is closed, return its whole source and the rest."""
        if self._line is None:
            rest, newline, text = text.partition("\n")
            self.pieces.append(rest + newline)
            if not newline:
                return None
        text = (self._line or "") + text
        if end := self._end.search(text):
            self.pieces.append(text[: end.start()])
            return self._fence + "".join(self.pieces) + end[0], text[end.end() :]
        lines, newline, line = text.rpartition("\n")
        held = len(line) <= _LONGEST_MARKS and self._may_end.fullmatch(line) is not None
        self._line = line if held else None
        self.pieces.append(lines + newline + ("" if held else line))
        return None

    @property
    def source(self) -> str:
        """The markdown up to here."""
        return self._fence + "".join(self.pieces) + (self._line or "")

    @property
    def html(self) -> str:
        """Safe HTML of it, without colours."""
        return safe_html.code_box(self._language, escape("".join(self.pieces)))


class MarkdownStream:
    """Renders one text as it arrives, in time linear in its length.

    ``closed`` is HTML of the final blocks; ``code`` is the open block where it is a code block, and
    ``size`` the length of one that is none.
    """

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.code: OpenCode | None = None
        self._definitions: safe_html.Environment = {safe_html.NAME: "streamed", MAY_COME: True}
        self._held = ""  # the end of the text, not a whole word yet
        self._begin("")

    def _begin(self, text: str) -> None:
        """Begin a block that is no code."""
        self._pieces, self.size, self._html = [text], len(text), ""
        self._read_at = self._show_at = 0

    def feed(self, text: str) -> None:
        """Take more text, of any length; the end waits until it is a whole word."""
        text = self._held + safe_html.UNSAFE.sub("\ufffd", text)
        start = max(0, len(text) - _LONGEST_WORD)
        ends = [found.end() for found in _WORD_END.finditer(text, start)]
        end = ends[-1] if ends else len(text) if start else 0
        # A return waits for its newline.
        end -= text[:end].endswith("\r")
        self._held = text[end:]
        words = text[:end].replace("\r\n", "\n").replace("\r", "\n")
        while words:
            if self.code is None:
                words = self._add(words)
            elif ended := self.code.add(words):
                self.code, words = None, ended[1]
                self._close(ended[0])
            else:
                words = ""

    def open_html(self) -> str:
        """Return safe HTML of the block that is still being written.

        It may differ in small things from the final HTML, and be a little behind.
        """
        if self.code:
            return self.code.html
        if self._show_at <= self.size <= _LARGEST:
            self._show_at = _later(self.size)
            text = "".join(self._pieces)
            line = text[text.rfind("\n") + 1 :]
            if len(line) <= _LONGEST_MARKS and _UNDECIDED.fullmatch(line):
                text = text[: len(text) - len(line)]
            if "$" in text or "\\" in text:
                text = text[: find_open(text)]
            # A copy, so that no definition is remembered which is not complete.
            references = dict(self._definitions.get("references", {}))
            known = {"references": references, NOTES: {*self._definitions.get(NOTES, ())}}
            env = {**self._definitions, **known, safe_html.OPEN_AT_LINE: len(text.splitlines())}
            self._html = safe_html.render_markdown(text, env)
        return self._html

    def finish(self) -> None:
        """Close the last block; nothing may be fed afterwards."""
        rest = self.code.source if self.code else "".join(self._pieces)
        self._close(rest + self._held)
        self.code, self._held = None, ""
        self._begin("")

    def _add(self, words: str) -> str:
        """Take more text; return the beginning of the code block that it opens, or ""."""
        self._pieces.append(words)
        self.size += len(words)
        if "\n" not in words or self.size < self._read_at:
            return ""
        self._read_at = _later(self.size)
        text = "".join(self._pieces)
        lines = text[: text.rfind("\n") + 1]
        start = _find_last_block(lines)
        if start:
            self._close(text[:start])
        if fence := _FENCE.match(text, start):
            self.code = OpenCode(fence)
            self._begin("")
            return text[fence.end() :]
        if start:
            self._begin(text[start:])
        return ""

    def _close(self, text: str) -> None:
        if html := safe_html.render_markdown(text, self._definitions):
            self.closed.append(html)


def _find_last_block(lines: str) -> int:
    """Return the place of the last block with a settled beginning."""
    if safe_html.is_plain(lines):
        before, gap, _ = lines.rstrip("\n").rpartition("\n\n")
        return len(before + gap)
    tokens: list[Token] = []
    env: safe_html.Environment = {}
    parser = safe_html.parser_for(lines)
    parser.block.parse(widen_fences(lines), parser, env, tokens)
    starts = [one.map[0] for one in tokens if one.map and one.level == 0 and one.nesting != -1]
    # Text after a formula that is still open may be part of it.
    last = max([line for line in starts if line <= env.get(UNDECIDED, line)], default=0)
    return sum([len(line) + 1 for line in lines.split("\n", last)[:last]])


def _later(size: int) -> int:
    """Return the size to read a block again at, so that each part is read ``_READINGS`` times."""
    return size + max(1, (size - _SMALL) // _READINGS)
