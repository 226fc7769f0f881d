"""Read an answer in the form that the condensing prompt asks for."""

import re
from dataclasses import dataclass

_ANALYSIS = re.compile(r"<analysis>(.*?)(?:</analysis>|(?=<summary>)|\Z)", re.DOTALL)
_UNOPENED_ANALYSIS = re.compile(r"\A((?:(?!<summary>).)*)</analysis>", re.DOTALL)
_OPEN, _CLOSE = "<summary>", "</summary>"


@dataclass(frozen=True, slots=True)
class Answer:
    """A summary without its tags, and the scratch text that came with it."""

    summary: str
    analysis: str = ""


def read_answer(text: str) -> Answer:
    """Return the parts of an answer; without tags all of it is the summary.

    A closing tag may be missing. Only what comes before the summary is analysis, so a summary may
    quote these tags. The summary is empty when there is nothing but analysis.
    """
    found = _analysis(text)
    if found is None:
        return Answer(_unwrapped(text))
    rest = text[: found.start()] + text[found.end() :]
    return Answer(_unwrapped(rest), found[1].strip())


def _analysis(text: str) -> re.Match[str] | None:
    found = _ANALYSIS.search(text)
    if found is None:
        return _UNOPENED_ANALYSIS.search(text)
    return None if _OPEN in text[: found.start()] else found


def _unwrapped(text: str) -> str:
    """Return the text without the outer summary tags; what stands around them is kept."""
    before, opened, body = text.partition(_OPEN)
    if not opened:
        return text.strip().removesuffix(_CLOSE).strip()
    inner, closed, after = body.rpartition(_CLOSE)
    parts = (before, inner, after) if closed else (before, body)
    return "\n\n".join(part.strip() for part in parts if part.strip())
