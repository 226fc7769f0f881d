"""Words of the record: what a hidden message holds."""

from typing import Any

from django import template

from chatapp.transcript.labels import strategy_name

register = template.Library()

register.filter("strategy", strategy_name)

LONGEST = 120  # characters of an excerpt
PASSAGE = 1_000


@register.filter
def excerpt(content: Any) -> str:
    """Return the beginning of a message's text, or what it holds instead."""
    line = " ".join(_words(content, " · ").split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


@register.filter
def passage(content: Any) -> str:
    """Return as much of a message's text as says what it is about, its lines as they are."""
    words = _words(content, "\n").strip()
    return words if len(words) <= PASSAGE else words[: PASSAGE - 1] + "…"


def _words(content: Any, between: str) -> str:
    if isinstance(content, str):
        return content
    return between.join(filter(None, map(block_words, content)))


def block_words(block: Any) -> str:
    """Return a block's text, its tool's name, or the kind of thing it is."""
    match block:
        case {"beside": {"kind": "environment" | "recalled"}}:
            return ""
        case {"type": "tool_result", "content": [*parts]}:
            return " ".join(map(block_words, parts))
        case {"text": str(words)} | {"type": "tool_result", "content": str(words)}:
            return words
        case {"name": str(name)} | {"type": str(name)}:
            return name
    return ""
