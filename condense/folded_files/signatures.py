"""Signatures: the definitions of one source file, found by its language's grammar.

A process of its own parses. A thread would not do: tree-sitter holds Python's interpreter lock
while it parses, and some grammars take minutes over a few kilobytes of hostile text. Here the event
loop goes on, a parse that takes too long is ended, and a crash costs one file.
"""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from condense.errors import SkipReason, Unfoldable
from condense.memory import Memory
from condense.worker_process import WorkerProcess

MARKDOWN = "markdown"
_WORKER = Path(__file__).with_name("worker.py")

# The endings of file names, by language.
ENDINGS_BY_LANGUAGE: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("languages.toml").read_text("utf-8")
)
# Roo Code shows nothing shorter. Here that holds for parts without a signature: objects, elements,
# tables. A short function is called as often as a long one, and its line says all about it.
LEAST_ROWS = 4
LONGEST_LINE = 400

_ATX = re.compile(r"#{1,6}\s+.+")
_UNDERLINE = re.compile(r"(={3,}|-{3,})\s*")
_UNDERLINED = re.compile(r"(?:\s*\t)?[^#<>!\[\]`\t]+[^\n]")

type Outcome = str | SkipReason

# Outcomes by language and content, in characters; each counts some more besides its own.
_cache = Memory[Outcome](4_000_000, lambda outcome: len(outcome) + 200)


class RowSpan(NamedTuple):
    """Rows ``first`` to ``last``, from 0; a signature is shown however short it is."""

    first: int
    last: int
    signature: bool = False


class ParserProcess(WorkerProcess):
    """The process that parses; one source may take so many ``seconds``."""

    def __init__(self, seconds: float = 5.0, worker: Path = _WORKER) -> None:
        super().__init__(worker, seconds=seconds)

    def parse(self, language: str, source: bytes) -> tuple[list[RowSpan], bool]:
        """Return the spans of definitions, and True if the source has syntax errors.

        Raises Unfoldable if there is no answer in time.
        """
        request = json.dumps({"language": language, "size": len(source)}).encode() + b"\n" + source
        try:
            found = json.loads(self.ask(request))
        except TimeoutError:
            raise Unfoldable(SkipReason.TOO_SLOW) from None
        except ChildProcessError as ended:
            is_missing = ended.errno == os.EX_UNAVAILABLE
            raise Unfoldable(SkipReason.NO_PARSER if is_missing else SkipReason.CRASHED) from None
        return [RowSpan(*row) for row in found["spans"]], found["broken"]


parser = ParserProcess()


def language_of(path: str) -> str | None:
    """Return the language of a file by its name, None if there is no grammar for it."""
    suffix = PurePosixPath(path).suffix.lower().removeprefix(".")
    return next(
        (name for name, extensions in ENDINGS_BY_LANGUAGE.items() if suffix in extensions), None
    )


def read_definitions(path: str, source: bytes) -> str:
    """Return ``# BASENAME`` and its definitions; raise Unfoldable if there are none."""
    language = language_of(path)
    if language is None:
        raise Unfoldable(SkipReason.NO_GRAMMAR)
    key = hashlib.blake2b(source, digest_size=20, key=language.encode()).digest()
    outcome = _cache.get(key, lambda: _fold(language, source))
    if isinstance(outcome, SkipReason):
        raise Unfoldable(outcome)
    return f"# {PurePosixPath(path).name}\n{outcome}"


def _fold(language: str, source: bytes) -> Outcome:
    text = source.decode("utf-8-sig", errors="replace")
    lines = text.split("\n")
    if language == MARKDOWN:
        # The rows from each header to the row before the next one, as Roo Code finds them.
        bare, rows = [line.removesuffix("\r") for line in lines], list[int]()
        for row, (above, line) in enumerate(pairwise(("", *bare))):
            if _ATX.fullmatch(line):
                rows.append(row)
            elif _UNDERLINE.fullmatch(line) and _UNDERLINED.fullmatch(above):
                rows.append(row - 1)
        rows.append(len(lines))
        sections = [RowSpan(row, following - 1) for row, following in pairwise(rows)]
        return render(sections, lines) or SkipReason.NOTHING
    try:
        spans, broken = parser.parse(language, text.encode())
    except Unfoldable as failure:
        if failure.reason is SkipReason.NO_PARSER:
            raise  # that says nothing about this source, so it must not be remembered
        return failure.reason
    shown = render((_trimmed(span, lines) for span in spans), lines)
    return shown or (SkipReason.BROKEN if broken else SkipReason.NOTHING)


def render(spans: Iterable[RowSpan], lines: Sequence[str]) -> str:
    """Return ``START--END | SOURCE LINE`` for each span, rows from 1, no line of source twice."""
    chosen: dict[int, int] = {}
    for span in sorted(spans):
        if span.signature or span.last - span.first + 1 >= LEAST_ROWS:
            chosen[span.first] = max(span.last, chosen.get(span.first, 0))
    # Lines that only machines write are cut: a line of minified code would take the whole limit.
    shown = {
        row: lines[row] if len(lines[row]) <= LONGEST_LINE else f"{lines[row][:LONGEST_LINE]} …"
        for row in chosen
    }
    return "".join(
        [f"{first + 1}--{last + 1} | {shown[first]}\n" for first, last in chosen.items()]
    )


def _trimmed(span: RowSpan, lines: Sequence[str]) -> RowSpan:
    """Return the span without trailing blank lines, which some grammars count as part of it."""
    last = min(span.last, len(lines) - 1)
    while last > span.first and not lines[last].strip():
        last -= 1
    return span._replace(last=last)
