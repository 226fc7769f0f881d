"""Parts that every page has: icons and the list of conversations."""

from typing import Any

from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chatapp.views.sidebar import list_conversations

register = template.Library()


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return a decorative icon of the sprite; its meaning is in the words beside it."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        static("icons.svg"),
        name,
    )


@register.inclusion_tag("conversations/_list.html", takes_context=True)
def conversation_list(context: Context) -> dict[str, Any]:
    """Show the latest conversations of the reader, the current one marked."""
    current = context.get("conversation")
    return list_conversations(context["request"].user) | {"current": current and current.pk}


@register.filter
def excerpt(content: Any, length: int = 120) -> str:
    """Return the beginning of a message's text, or what it holds instead."""
    if isinstance(content, str):
        return shorten(content, length)
    words = [
        block.get("text") or block.get("name") or block.get("type", "")
        for block in content
        if isinstance(block, dict)
    ]
    return shorten(" · ".join(words), length)


def shorten(text: str, length: int) -> str:
    """Return the text on one line, cut at ``length`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
