"""Parsed summaries: answers in the form that the condensing prompt asks for."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

_TAG = re.compile(r"<(/?)(analysis|summary)\b[^<>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedSummary:
    """A summary without its tags, and the scratch text that came with it."""

    summary: str
    analysis: str = ""


class _Scratch(NamedTuple):
    """Where analysis stands in a text: from and to, and what of that is no tag."""

    start: int
    end: int
    text: str


def parse_summary(text: str) -> ParsedSummary:
    """Return the parts of an answer; without tags all of it is the summary.

    A closing tag may be missing. Only what stands around the summary is analysis, so a summary may
    quote these tags. The summary is empty when there is nothing but analysis.
    """
    rest, before = _without_scratch(text)
    head, body, tail = _parts(rest)
    tail, after = _without_scratch(tail)
    return ParsedSummary(_joined((head, body, tail)), _joined((*before, *after)))


def _parts(text: str) -> tuple[str, str, str]:
    """Return what stands before, within and after the outer summary tags."""
    tags = [tag for tag in _TAG.finditer(text) if tag[2].lower() == "summary"]
    start, inner = next((tag.span() for tag in tags if not tag[1]), (0, 0))
    end, tail = next((tag.span() for tag in reversed(tags) if tag[1]), (len(text), len(text)))
    if end < inner or (not inner and text[tail:].strip()):
        end = tail = len(text)
    return text[:start], text[inner:end], text[tail:]


def _without_scratch(text: str) -> tuple[str, list[str]]:
    """Return the text without the analysis before its summary, and that analysis."""
    found = [*_scratch(text)]
    ends = (0, *(one.end for one in found))
    starts = (*(one.start for one in found), len(text))
    kept = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    return "".join(kept), [one.text for one in found]


def _scratch(text: str) -> Iterator[_Scratch]:
    """Yield the outermost analysis up to the summary; the first may lack either of its tags."""
    start = inner = end = depth = 0
    summary = len(text)
    for tag in _TAG.finditer(text):
        match bool(tag[1]), tag[2].lower(), depth:
            case False, "summary", 0:
                return
            case False, "summary", _:
                summary = min(summary, tag.start())
            case False, "analysis", _:
                start, inner = (start, inner) if depth else tag.span()
                depth += 1
            case True, "analysis", 0 | 1:
                start, inner = (start, inner) if depth else (end, end)
                depth, end, summary = 0, tag.end(), len(text)
                yield _Scratch(start, end, text[inner : tag.start()])
            case True, "analysis", _:
                depth -= 1
    if depth:
        yield _Scratch(start, summary, text[inner:summary])


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join([text.strip() for text in texts if text.strip()])
