"""The list of conversations beside every page, page by page."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.utils.dateparse import parse_datetime

from chatapp.models import Conversation

PAGE = 40
SEPARATOR = "_"


def list_conversations(
    user: User | AnonymousUser, *, text: str = "", after: str = ""
) -> dict[str, Any]:
    """Return one page of conversations whose title contains ``text``, and the next cursor."""
    found = Conversation.objects.owned_by(user).present().titled(text)
    if place := read_cursor(after):
        when, pk = place
        found = found.filter(Q(updated_at__lt=when) | Q(updated_at=when, pk__lt=pk))
    rows = list(found[: PAGE + 1])
    more = write_cursor(rows[PAGE - 1]) if len(rows) > PAGE else ""
    return {"conversations": rows[:PAGE], "more": more, "text": text, "continued": bool(after)}


def write_cursor(row: Any, when: datetime | None = None) -> str:
    """Return where the page after ``row`` begins."""
    return f"{(when or row.updated_at).isoformat()}{SEPARATOR}{row.pk}"


def read_cursor(text: str) -> tuple[datetime, str] | None:
    """Return the moment and key in a cursor; anything else means the first page."""
    stamp, found, pk = text.partition(SEPARATOR)
    try:
        when = parse_datetime(stamp)
    except ValueError:
        return None
    return (when, pk) if found and when and pk else None
