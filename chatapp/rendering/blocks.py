"""The block of a streamed text that is still being written: where it ends, and how it looks.

``find_end`` is exact, as it decides what is final. ``preview`` may differ in small things from the
final rendering (a list's spacing, colours of code), as it is replaced when the block is closed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Protocol

from markdown_it.token import Token

from chatapp.rendering.formulas import OPEN_AT_LINE
from chatapp.rendering.highlighting import read_language
from chatapp.rendering.outlines import Block, first_list, outline
from chatapp.rendering.parsing import Environment, parser, render_tokens
from chatapp.rendering.renderer import CLOSE_CODE_BLOCK, open_code_block

# Characters: larger pieces are looked at again only when they have grown by a quarter.
_SMALL = 4_000

# Characters: smaller pieces take a few milliseconds at worst, and words less than the clock does.
_TINY = 200

# Seconds of a showing that are free, and what each new character earns towards the next one:
# brackets that never close take a hundred times as long to read as words do.
_FREE = 0.002
_EARNED = 0.000_04

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`\n]*\n)|~{3,})([^\n]*)\n")

# A line of these may become a rule, a heading, a list or a table: it is not shown yet.
_UNDECIDED = re.compile(r"[\s>]*+(?:(?:(?<=\s)|[-=*_+#|:~`])[-=*_+#|:~`\s]*+|\d{1,9}[.)]\s*+)")


# Tells seconds of processor time.
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class OpenCode:
    """The text of a code block that is being written, to which lines are only added.

    ``line`` is what is shown of the line that is not complete: it may still change.
    """

    lines: str
    line: str


class OpenBlock(Protocol):
    """What the stream asks of the open block; ``text`` is its complete lines."""

    text: str

    def add(self, lines: str) -> None:
        """Take more complete lines."""
        ...

    def find_end(self) -> int | None:
        """Return up to where the text is final, None when nothing more is known to be."""
        ...

    def preview(self, line: str) -> str:
        """Return safe HTML of the text and of ``line``, which is not complete."""
        ...

    def code(self, line: str) -> OpenCode | None:
        """Return what ``preview`` shows as text, None where it is more than code."""
        ...


def open_block(text: str, env: Environment, clock: Clock) -> OpenBlock:
    """Return the block that begins with these lines; ``env`` holds the link definitions."""
    match = _FENCE.match(text)
    return _OpenCode(text, match) if match else _OpenProse(text, env, clock)


class _OpenCode:
    """A fenced code block; its lines are read once, and coloured when it is complete."""

    def __init__(self, text: str, fence: re.Match[str]) -> None:
        mark = fence[1]
        self.text = text
        self._end = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*\n", re.MULTILINE)
        self._begin = self._searched = fence.end()
        self._html = open_code_block(read_language(fence[2])) + escape(text[fence.end() :])

    def add(self, lines: str) -> None:
        self.text += lines
        self._html += escape(lines)

    def find_end(self) -> int | None:
        match = self._end.search(self.text, self._searched)
        self._searched = len(self.text)
        return match.end() if match else None

    def preview(self, line: str) -> str:
        return self._html + escape(_decided(line)) + CLOSE_CODE_BLOCK

    def code(self, line: str) -> OpenCode | None:
        return OpenCode(self.text[self._begin :], _decided(line))


class _OpenProse:
    """Any other block; of a list, the items that are complete are rendered once."""

    def __init__(self, text: str, env: Environment, clock: Clock) -> None:
        self.text = text
        self._env = env
        self._clock = clock
        self._reading = _Pace()
        self._showing = _Pace()
        self._html = ""
        self._settle_nothing()

    def add(self, lines: str) -> None:
        self.text += lines

    def find_end(self) -> int | None:
        if not self._reading.is_due(len(self.text) - self._settled):
            return None
        blocks = self._outline()
        if not blocks:
            return None
        last = blocks[-1]
        if last.start or _FENCE.match(self.text, self._settled):
            return self._settled + last.start
        if len(last.items) > 1:
            self._settle(last)
        return None

    def preview(self, line: str) -> str:
        tail = self.text[self._settled :] + _decided(line)
        if self._showing.is_due(len(tail)):
            started = self._clock() if len(tail) > _TINY else None
            self._html = self._render(tail)
            if started is not None:
                self._showing.took(self._clock() - started)
        return self._html

    def code(self, line: str) -> OpenCode | None:  # noqa: ARG002 - the protocol's signature
        return None

    def _outline(self) -> list[Block]:
        """Read from the list item that is open, and from the start if that proves wrong."""
        blocks = outline(self.text[self._settled :])
        if self._list is None or (blocks and _is_same_list(blocks[0].opening, self._list)):
            return blocks
        self._settle_nothing()
        return outline(self.text)

    def _settle_nothing(self) -> None:
        self._settled = 0
        self._list: Token | None = None
        self._items = ""

    def _settle(self, block: Block) -> None:
        """Render the list's items but the last, to which more may come."""
        end = self._settled + block.items[-1]
        env = self._copy_env()
        tokens = parser().parse(self.text[self._settled : end], env)
        self._items += render_tokens(first_list(tokens)[0], env)
        self._list = self._list or block.opening
        self._settled = end

    def _render(self, tail: str) -> str:
        env = self._copy_env()
        env[OPEN_AT_LINE] = len(tail.splitlines())
        tokens = parser().parse(tail, env)
        if self._list is None or not tokens or not _is_same_list(tokens[0], self._list):
            return render_tokens(tokens, env)
        items, rest = first_list(tokens)
        start = f' start="{self._list.attrs["start"]}"' if "start" in self._list.attrs else ""
        tag = self._list.tag
        inside = self._items + render_tokens(items, env)
        return f"<{tag}{start}>\n{inside}</{tag}>\n" + render_tokens(rest, env)

    def _copy_env(self) -> Environment:
        """Return what came before, so that nothing incomplete is remembered."""
        return {**self._env, "references": dict(self._env.get("references", {}))}


def _decided(line: str) -> str:
    return "" if _UNDECIDED.fullmatch(line) else line


class _Pace:
    """Says when something that grows is looked at again, so that all looks stay about linear."""

    def __init__(self) -> None:
        self._size = -1
        self._wait = 0

    def is_due(self, size: int) -> bool:
        if self._size <= size < self._size + self._wait:
            return False
        self._size = size
        self._wait = max(size - _SMALL, 0) // 4
        return True

    def took(self, seconds: float) -> None:
        earned = int(max(seconds - _FREE, 0) / _EARNED)
        self._wait = max(self._wait, min(earned, self._size // 4))


def _is_same_list(one: Token, other: Token) -> bool:
    return (one.type, one.markup) == (other.type, other.markup)
