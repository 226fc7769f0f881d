"""The record in words: what a hidden message holds."""

from typing import Any

from django import template

register = template.Library()


@register.filter
def excerpt(content: Any, length: int = 120) -> str:
    """Return the beginning of a message's text, or what it holds instead."""
    if isinstance(content, str):
        return shorten(content, length)
    return shorten(" · ".join(filter(None, map(block_words, content))), length)


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


def shorten(text: str, length: int) -> str:
    """Return the text on one line, cut at ``length`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
