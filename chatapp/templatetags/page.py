"""Parts that every page has: icons, the list of conversations, and the words of scripts."""

import tomllib
import uuid
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from django import template
from django.conf import STATICFILES_STORAGE_ALIAS, settings
from django.core.files.storage import Storage, storages
from django.template import Context
from django.template.base import FilterExpression, Parser, Token, token_kwargs
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.conversations.context.sizes import CONDENSES, LATEST, TRUNCATES
from chatapp.project import languages, sentences, static_files
from chatapp.project.sentences import forms_of
from chatapp.tools import TOOL_SPECS
from chatapp.web.views.sidebar import search_conversations

register = template.Library()
register.filter("in_words", languages.in_words)

# Words that scripts put on the page: each is a text, or a singular and a plural.
SCRIPT_TEXTS = tomllib.loads(Path(__file__).with_name("script_texts.toml").read_text("utf-8"))
# Words that the server uses as well, and those for calls of a tool without words of its own.
_SHARED = {
    "condensesAt": CONDENSES,
    "latestAt": LATEST,
    "truncatesAt": TRUNCATES,
    "tally": {"one": "{name}", "other": _("{count} \N{MULTIPLICATION SIGN} {name}")},
}


# Icons with a direction, which are mirrored in languages written from right to left.
DIRECTED = {"clear", "earlier", "inspect", "later", "leave", "menu", "redo", "undo", "whole"}


@register.simple_tag
def sends_mail() -> bool:
    """Return True if the server can send mail."""
    return bool(settings.MAIL_SERVER)


@register.simple_tag
def languages_offered() -> dict[str, str]:
    """Return each language's own name for itself, by its code."""
    return languages.NAMES


@register.simple_tag
def locale() -> str:
    """Return the reader's locale for scripts, with the server's calendar and digits."""
    return languages.reader().locale.replace("_", "-") + "-u-ca-gregory-nu-latn"


@register.simple_tag
def version() -> str:
    """Return the version of the page's scripts and styles."""
    return static_files.version()


@register.simple_tag
def in_a_row(*items: str) -> str:
    """List things as the reader's language does."""
    return sentences.in_a_row(items)


@register.filter
def codes(names: Iterable[str]) -> SafeString:
    """List names of a program's things as the reader's language lists things."""
    escaped = [format_html("<code>{}</code>", one) for one in names]
    return mark_safe(sentences.in_a_row(escaped))  # noqa: S308 - as its name says


@register.filter
def isolated(words: object) -> SafeString:
    """Return words isolated from the writing direction of the sentence around them."""
    return format_html("<bdi>{}</bdi>", words)


@register.filter
def names(things: Iterable[Any]) -> SafeString:
    """List things by the names that people gave them, each in its own direction."""
    return mark_safe(sentences.in_a_row([isolated(one.name) for one in things]))  # noqa: S308 - escaped


register.filter("upright", condense.upright)

# Browsers and systems by the names in their headers; the first that is found fits.
_BROWSERS = ("Edg:Edge", "OPR:Opera", "Firefox", "Chromium", "Chrome", "CriOS:Chrome", "Safari")
_SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS X:macOS", "CrOS:ChromeOS", "Linux")


@register.filter
def browser(header: str) -> str:
    """Return a browser's name and its system's, or its header without either."""
    found = [
        next((name or mark for mark, _colon, name in known if mark in header), "")
        for known in ([one.partition(":") for one in names] for names in (_BROWSERS, _SYSTEMS))
    ]
    told = sentences.translate("{browser} on {system}", browser=found[0], system=found[1])
    return told if all(found) else header


class _KeptNode(template.Node):
    def __init__(self, nodelist: template.NodeList, values: dict[str, FilterExpression]) -> None:
        self.nodelist, self.values = nodelist, values
        self.made: dict[Any, str] = {}

    def render(self, context: Context) -> SafeString:
        """Return the block with the present keys and numbers in their places."""
        values = {name: one.resolve(context) for name, one in self.values.items()}
        fills = {name: one for name, one in values.items() if type(one) in _PLACES}
        key = (get_language(), *[one for name, one in values.items() if name not in fills])
        if (text := self.made.get(key)) is None:
            places = {name: _PLACES[type(one)] for name, one in fills.items()}
            text = self.made[key] = self.nodelist.render(context.new(values | places))
        for one in fills.values():
            text = text.replace(str(_PLACES[type(one)]), str(one))
        return mark_safe(text)  # noqa: S308 - a template's, and numbers


# Stand-ins for a key and for a number in a kept block: none is a part of another.
_PLACES = {uuid.UUID: uuid.UUID(int=0xCAFE << 96), int: 8_070_605_040_302}


@register.tag
def kept(parser: Parser, token: Token) -> _KeptNode:
    """Render a block of ``name=value`` variables, and no others, once for each language.

    It is kept for each set of their values, apart from one key (a UUID) and one number, which are
    put in each time: most of a row is the same for all messages.
    """
    values = token_kwargs(token.split_contents()[1:], parser)
    nodelist = parser.parse(("endkept",))
    parser.delete_first_token()
    return _KeptNode(nodelist, values)


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return a decorative icon of the sprite; its meaning is in the words next to it."""
    return _icon(name, storages[STATICFILES_STORAGE_ALIAS])


@cache
def _icon(name: str, storage: Storage) -> SafeString:
    """Return an icon once and for all: a page has two hundred of them."""
    return format_html(
        '<svg class="icon{}" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        " directed" if name in DIRECTED else "",
        storage.url("icons.svg"),
        name,
    )


@register.inclusion_tag("search/_results.html", takes_context=True)
def conversation_list(context: Context) -> dict[str, Any]:
    """Show the reader's latest conversations, or the results of a search; mark the current one."""
    request, current = context["request"], context.get("conversation")
    found = search_conversations(request, request.GET.get("q", ""), current=current or None)
    return found | {"current": current and current.pk, "at": request.GET.get("at")}


@register.simple_tag
def script_texts() -> SafeString:
    """Return the texts, in the reader's language, as JSON that scripts/text.js reads."""
    # For each tool, the sentence about several of its calls.
    tallies = {f"tally.{one.name}": one.tally for one in TOOL_SPECS.values() if one.tally}
    words = {
        name: gettext(one) if isinstance(one, str) else forms_of(*one)
        for name, one in (SCRIPT_TEXTS | tallies).items()
    }
    return json_script(_SHARED | words, "script-texts")
