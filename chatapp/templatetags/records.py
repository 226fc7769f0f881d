"""The record in words: what a hidden message holds."""

from typing import Any

from django import template

register = template.Library()


LONGEST = 120  # characters of an excerpt


@register.filter
def excerpt(content: Any) -> str:
    """Return the beginning of a message's text, or what it holds instead."""
    if isinstance(content, str):
        return shorten(content)
    return shorten(" · ".join(filter(None, map(block_words, content))))


def block_words(block: Any) -> str:
    """Return a block's text, its tool's name, or the kind of thing it is."""
    match block:
        case {"type": "tool_result", "content": [*parts]}:
            return " ".join(map(block_words, parts))
        case {"text": str(words)} | {"type": "tool_result", "content": str(words)}:
            return words
        case {"name": str(name)} | {"type": str(name)}:
            return name
    return ""


def shorten(text: str) -> str:
    """Return the text on one line, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
