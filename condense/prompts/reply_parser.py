"""Parsed summaries: answers in the form that the condensing prompt asks for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_TAG = re.compile(r"<(/?)(analysis|summary)\b[^<>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedSummary:
    """A summary without its tags, and the scratch text that came with it."""

    summary: str
    analysis: str = ""


def parse_summary(text: str) -> ParsedSummary:
    """Return the parts of an answer; without tags all of it is the summary.

    A closing tag may be missing. Only what stands around the summary is analysis, so a summary may
    quote these tags. The summary is empty when there is nothing but analysis.
    """
    text, before = _without_scratch(text)
    whole = len(text)
    tags = [tag for tag in _TAG.finditer(text) if tag[2].lower() == "summary"]
    start, inner = ([tag.span() for tag in tags if not tag[1]] or [(0, 0)])[0]
    end, tail = ([tag.span() for tag in tags if tag[1]] or [(whole, whole)])[-1]
    if end < inner or (not inner and text[tail:].strip()):
        end = tail = whole
    rest, after = _without_scratch(text[tail:])
    return ParsedSummary(_joined((text[:start], text[inner:end], rest)), _joined(before + after))


def _without_scratch(text: str) -> tuple[str, list[str]]:
    """Return the text without the outermost analysis before its summary, and that analysis.

    The first may lack either of its tags.
    """
    kept: list[str] = []
    scratch: list[str] = []
    start = inner = end = depth = 0
    summary = len(text)
    for tag in _TAG.finditer(text):
        match bool(tag[1]), tag[2].lower(), depth:
            case False, "summary", 0:
                break
            case False, "summary", _:
                summary = min(summary, tag.start())
            case False, "analysis", _:
                start, inner = (start, inner) if depth else tag.span()
                depth += 1
            case True, "analysis", 0 | 1:
                start, inner = (start, inner) if depth else (end, end)
                kept.append(text[end:start])
                scratch.append(text[inner : tag.start()])
                depth, end, summary = 0, tag.end(), len(text)
            case True, "analysis", _:
                depth -= 1
    if depth:
        kept.append(text[end:start])
        scratch.append(text[inner:summary])
        end = summary
    return "".join((*kept, text[end:])), scratch


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join([text.strip() for text in texts if text.strip()])
