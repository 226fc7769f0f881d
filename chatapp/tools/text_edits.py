"""Text files as tools change them: patches of blocks that replace lines, and differences.

A block is first searched as it is written. If it is not found, trailing space is ignored, then the
indentation, then any white space; the replacement takes on the indentation that the text has. All
of a patch is applied, or nothing.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from chatapp.agent.errors import ToolError
from chatapp.tools.workspace import Workspace, quote

_SEARCH, _MIDDLE, _REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
_START = re.compile(r":start_line:\s*(\d{1,9})\s*")
_ESCAPED = re.compile(r"\\(<<<<<<<|=======|>>>>>>>|-------|:start_line:)")
_SPACE = re.compile(r"\s+")

MAX_BLOCKS = 200
# Comparisons that are made to find the text most like a block that was not found.
MAX_COMPARED = 2_000_000
# Pairs of an old and a new line that are compared; beyond, the first goes with the first.
MAX_ALIGNED = 500_000
# Lines of a difference that are shown, and characters of one.
MAX_SHOWN = 2_000
MAX_COMPARED_LINE = 1_000
# Lines that are compared; of more, only the numbers are shown: the work grows with their square.
MAX_COMPARED_LINES = 10_000

SHAPE = (
    f"{_SEARCH}\n:start_line:N (optional)\n-------\nlines as they are\n{_MIDDLE}\n"
    f"lines as they shall be\n{_REPLACE}"
)

Lines = Sequence[str]


@dataclass(frozen=True, slots=True)
class Block:
    """Lines to find, lines to put there, and the line near which they stand, if it is known."""

    search: tuple[str, ...]
    replace: tuple[str, ...]
    near: int | None = None


def read_blocks(patch: str) -> list[Block]:
    """Return the blocks of a patch; raise ToolError for another shape."""
    lines = iter(patch.replace("\r\n", "\n").split("\n"))
    blocks: list[Block] = []
    for line in lines:
        if line.strip() == _SEARCH:
            blocks.append(_read_block(lines, len(blocks) + 1))
        elif line.strip():
            raise ToolError(f"Expected {_SEARCH!r}. A block looks like this:\n{SHAPE}")
    if not 0 < len(blocks) <= MAX_BLOCKS:
        raise ToolError(f"A patch has 1 to {MAX_BLOCKS} blocks. A block looks like this:\n{SHAPE}")
    return blocks


def _read_block(lines: Iterator[str], number: int) -> Block:
    search = _until(lines, _MIDDLE, number)
    near, at = None, 0
    if search and (found := _START.fullmatch(search[0])):
        near, at = int(found[1]), 1
    if search[at : at + 1] == ["-------"]:
        at += 1
    replace = _until(lines, _REPLACE, number)
    return Block(_unescaped(search[at:]), _unescaped(replace), near)


def _until(lines: Iterator[str], end: str, number: int) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line.rstrip() == end:
            return found
        if line.rstrip() in {_SEARCH, _MIDDLE, _REPLACE}:
            break
        found.append(line)
    raise ToolError(
        f"Block {number} has no line {end!r} in its place. Write a line of the file that looks "
        f"like a mark with a backslash before it. A block looks like this:\n{SHAPE}"
    )


def _unescaped(lines: Lines) -> tuple[str, ...]:
    return tuple(line[1:] if _ESCAPED.match(line) else line for line in lines)


def apply_blocks(text: str, blocks: Sequence[Block]) -> str:
    """Return the text with every block replaced; raise ToolError that says which did not match."""
    lines = text.split("\n")
    # The end of each place that was changed, and the lines that it grew by.
    changes: list[tuple[int, int]] = []
    for number, block in enumerate(blocks, start=1):
        near = block.near
        for end, grown in changes:
            near = near + grown if near and near > end else near
        at, count, replacement = _place(lines, block, near, f"Block {number} of {len(blocks)}")
        lines[at : at + count] = replacement
        changes.append((at + count, len(replacement) - count))
    return "\n".join(lines)


def _place(
    lines: list[str], block: Block, near: int | None, name: str
) -> tuple[int, int, Sequence[str]]:
    """Return a block's place in the file, the number of lines it replaces, and the new lines."""
    if not block.search:
        if lines == [""]:
            return 0, 0, block.replace
        if near is None or not 1 <= near <= len(lines):
            raise ToolError(
                f"{name} has no lines to look for. Give :start_line: with a line from 1 to "
                f"{len(lines):,} before which the new lines come."
            )
        return near - 1, 0, block.replace
    for plain, moves in _WAYS:
        if found := _find(lines, block.search, plain):
            if near is None and len(found) > 1:
                places = ", ".join([f"{at + 1:,}" for at in found[:10]])
                raise ToolError(
                    f"{name} matches {len(found):,} places: lines {places}. Nothing was changed. "
                    "Take more lines into the block, or say which with :start_line:."
                )
            line = near or 0
            at = min(found, key=lambda at: (abs(at + 1 - line), at))
            there = lines[at : at + len(block.search)]
            return at, len(there), _indented(there, block) if moves else block.replace
    raise ToolError(f"{name} does not match, and nothing was changed. {_closest(lines, block)}")


def _find(lines: Lines, wanted: Lines, plain: Callable[[str], str]) -> list[int]:
    """Return the places, from 0, of the wanted lines, in linear time (the Z algorithm)."""
    size, both = len(wanted), [*map(plain, wanted), None, *map(plain, lines)]
    same = [0] * len(both)
    start = end = 0
    for at in range(1, len(both)):
        alike = min(same[at - start], end - at) if at < end else 0
        while at + alike < len(both) and both[alike] == both[at + alike]:
            alike += 1
        same[at] = alike
        if at + alike > end:
            start, end = at, at + alike
    return [at - size - 1 for at in range(size + 1, len(both)) if same[at] == size]


def _indented(there: Lines, block: Block) -> Lines:
    """Return the replacement, moved as far as the text's lines are from those of the block."""
    pairs = [
        (_indent(wanted), _indent(line))
        for line, wanted in zip(there, block.search, strict=True)
        if line.strip()
    ]
    others = dict(reversed(pairs))
    old = [_squeezed(line) for line in block.search if line.strip()]
    new = [_squeezed(line) for line in block.replace if line.strip()]
    spans = [("", 0, len(old), 0, len(new))]
    if len(old) * len(new) <= MAX_ALIGNED:
        spans = [*difflib.SequenceMatcher(None, old, new, False).get_opcodes()]
    # For each new line, the old line that it is, replaces or follows.
    beside = iter(
        [
            pairs[max(0, min(start + number - first, end - 1))]
            for _, start, end, first, last in spans
            for number in range(first, last)
        ]
    )
    return [_moved(line, next(beside), others) if line.strip() else line for line in block.replace]


def _moved(line: str, beside: tuple[str, str], others: dict[str, str]) -> str:
    """Return a line, indented as the text indents the one ``beside`` it, or one like it."""
    own = _indent(line)
    if not own.startswith(beside[0]):
        base = max((one for one in others if own.startswith(one)), key=len, default=None)
        beside = (own, own) if base is None else (base, others[base])
    was, shall_be = beside
    return shall_be + own[len(was) :] + line[len(own) :]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _squeezed(line: str) -> str:
    return _SPACE.sub(" ", line).strip()


# Ways to compare lines, and True if the replacement takes on the indentation of the text.
_WAYS = ((str, False), (str.rstrip, False), (str.strip, True), (_squeezed, True))


def _closest(lines: list[str], block: Block) -> str:
    """Return a sentence about the lines most like a block, with the first difference."""
    here, sought = [_squeezed(line) for line in lines], [_squeezed(line) for line in block.search]
    size = len(sought)
    if len(here) * size > MAX_COMPARED:
        return f"Line 1 of it is: {block.search[0][:200]!r}."
    scores = (
        (sum(map(str.__eq__, here[at : at + size], sought)), -at)
        for at in range(max(1, len(here) - size + 1))
    )
    score, at = max(scores)
    if not score:
        return f"No line of it stands in the file. Line 1 of it is: {block.search[0][:200]!r}."
    at = -at
    differs = next(
        one for one in range(size) if here[at + one : at + one + 1] != sought[one : one + 1]
    )
    there = lines[at + differs][:200] if at + differs < len(lines) else "(the end of the file)"
    return (
        f"Lines {at + 1:,} to {min(at + size, len(lines)):,} of the file are most like it "
        f"({score} of {size} lines are the same). Line {at + differs + 1:,} differs: "
        f"expected {block.search[differs][:200]!r}, found {there!r}."
    )


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text in a ``codec``; with ``crlf`` its lines ended so, and have newlines here."""

    text: str
    crlf: bool = False
    codec: str = "utf-8"

    def encode(self, text: str) -> bytes:
        """Return another text in the same form."""
        if self.crlf:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        try:
            return text.encode(self.codec)
        except UnicodeEncodeError as error:
            raise ToolError(f"The file is {self.codec}, which can't hold this text.") from error


def read_whole(workspace: Workspace, path: str) -> TextFile:
    """Return a text file; raise ToolError without one, or if writing it back would change it."""
    text, codec, _ = workspace.read_encoded(path)
    if not codec:
        raise ToolError(f"{quote(path)} has bytes of no encoding, so it can't be written back.")
    ends = text.count("\r\n")
    crlf = ends > 0 and ends == text.count("\n")
    # In a file with both kinds of line ends each line keeps its own.
    return TextFile(text.replace("\r\n", "\n") if crlf else text, crlf, codec)


def read_if_there(workspace: Workspace, path: str) -> TextFile | None:
    """Return a text file, None if there is none, or another kind of file."""
    with suppress(ToolError):
        return read_whole(workspace, path)
    return None


def _shown(text: str) -> list[str]:
    """Return lines to show; an end that an editor may take for none is visible as an escape."""
    split = zip(text.splitlines(), text.splitlines(keepends=True), strict=True)
    ends = ((line, whole[len(line) :]) for line, whole in split)
    return [line if end in {"", "\n", "\r\n"} else line + ascii(end)[1:-1] for line, end in ends]


def show_difference(path: str, before: str | None, after: str) -> str:
    """Return the diff between two texts, "" if they are the same; None stands for no file."""
    old, new = _shown(before or ""), _shown(after)
    if before is not None and before == after:
        return ""
    if len(old) + len(new) > MAX_COMPARED_LINES:
        return f"--- {path}\n+++ {path}\n[{len(old):,} lines become {len(new):,}.]"
    was = path if before is not None else "/dev/null"
    lines = list(islice(difflib.unified_diff(old, new, was, path, lineterm=""), MAX_SHOWN + 1))
    if len(lines) > MAX_SHOWN:
        lines[MAX_SHOWN:] = [f"[Only the first {MAX_SHOWN:,} lines of the difference.]"]
    for place, line in enumerate(lines):
        if (rest := len(line) - MAX_COMPARED_LINE) > 0:
            lines[place] = f"{line[:MAX_COMPARED_LINE]}… [{rest:,} more characters in this line]"
    return "\n".join(lines) or f"--- {was}\n+++ {path}"
