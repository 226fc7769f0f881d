"""From a file's name and bytes to its definitions."""

from pathlib import PurePosixPath

from condense.folding import markdown
from condense.folding.cache import Outcome, SignatureCache
from condense.folding.captures import render, trimmed
from condense.folding.errors import Unfoldable
from condense.folding.folded import SkipReason
from condense.folding.languages import MARKDOWN, language_of
from condense.folding.parsing import parser

cache = SignatureCache()


def read_definitions(path: str, source: bytes) -> str:
    """Return ``# BASENAME`` and its definitions; raise Unfoldable where there is none."""
    language = language_of(path)
    if language is None:
        raise Unfoldable(SkipReason.NO_GRAMMAR)
    outcome = cache.get(language, source, lambda: _fold(language, source))
    if isinstance(outcome, SkipReason):
        raise Unfoldable(outcome)
    return f"# {PurePosixPath(path).name}\n{outcome}"


def definitions(path: str, text: str) -> str | None:
    """Return a text's definitions as they stand in a section, None where it has none.

    Only the name's extension counts: nothing is read.
    """
    try:
        return read_definitions(path, text.encode(errors="replace"))
    except Unfoldable:
        return None


def _fold(language: str, source: bytes) -> Outcome:
    text = source.decode("utf-8-sig", errors="replace")
    lines = text.split("\n")
    if language == MARKDOWN:
        return render(markdown.sections(lines), lines) or SkipReason.NOTHING
    try:
        spans, broken = parser.parse(language, text.encode())
    except Unfoldable as failure:
        if failure.reason is SkipReason.NO_PARSER:
            raise  # that says nothing about this source, so it must not be remembered
        return failure.reason
    shown = render((trimmed(span, lines) for span in spans), lines)
    return shown or (SkipReason.BROKEN if broken else SkipReason.NOTHING)
