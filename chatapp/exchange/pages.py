"""A conversation as one HTML page that needs nothing else: no script, no address, no other file."""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.csp import CSP
from django.utils.safestring import mark_safe

from chatapp.exchange.copies import Entry, read_entries
from chatapp.models import Conversation

_SHEETS = ("variables.css", "prose.css", "code.css")


def write_html(conversation: Conversation, *, until: int | None = None, tools: bool = True) -> str:
    """Return the page; up to a message, where one is named, and with what ``tools`` said or not."""
    return _write(str(conversation), read_entries(conversation, until=until, tools=tools))


def write_notice(words: str) -> str:
    """Return a page of the same look that says why there is nothing to read."""
    return _write(words, ())


def _write(title: str, entries: Iterable[Entry]) -> str:
    context = {
        "title": title,
        "entries": entries,
        # It is the page's own, and nothing that anybody has said.
        "style": mark_safe(f"<style>{_style()}</style>"),  # noqa: S308 - our own sheets
        "policy": "; ".join(f"{name} {' '.join(of)}" for name, of in policy().items()),
    }
    return render_to_string("exchange/copy.html", context)


def policy() -> dict[str, list[str]]:
    """Return what a browser may do with the page: show it, and the images in it."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return {
        "default-src": [CSP.NONE],
        "style-src": [f"'sha256-{digest}'"],
        "img-src": ["data:"],
    }


@cache
def _style() -> str:
    folder = Path(settings.BASE_DIR) / "static" / "css"
    sheets = [(folder / name).read_text("utf-8") for name in _SHEETS]
    return "\n".join([*sheets, render_to_string("exchange/copy.css")])
