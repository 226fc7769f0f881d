"""Parts that every page has: icons and the list of conversations."""

from functools import cache
from typing import Any

from django import template
from django.conf import STATICFILES_STORAGE_ALIAS
from django.core.files.storage import Storage, storages
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chatapp.views.sidebar import search_conversations

register = template.Library()


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return a decorative icon of the sprite; its meaning is in the words beside it."""
    return _icon(name, storages[STATICFILES_STORAGE_ALIAS])


@cache
def _icon(name: str, storage: Storage) -> SafeString:
    """Return an icon once and for all: a page has two hundred of them."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        storage.url("icons.svg"),
        name,
    )


@register.inclusion_tag("search/_results.html", takes_context=True)
def conversation_list(context: Context) -> dict[str, Any]:
    """Show the reader's latest conversations, or what they search for; the current one marked."""
    request, current = context["request"], context.get("conversation")
    found = search_conversations(request, request.GET.get("q", ""), current=current or None)
    return found | {"current": current and current.pk, "at": request.GET.get("at")}
