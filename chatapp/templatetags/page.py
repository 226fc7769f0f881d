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
    return list_conversations(context["request"]) | {"current": current and current.pk}
