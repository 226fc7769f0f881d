"""Numbers and cursors in addresses; a cursor has the moment and key of a page's last row."""

import uuid
from datetime import MAXYEAR, MINYEAR, datetime
from typing import Any

from django.db.models import Q
from django.utils.dateparse import parse_datetime

CURSOR_SEPARATOR = "_"
# Digits. Everything that is counted or numbered here has fewer.
LONGEST_NUMBER = 9


def read_number(text: str) -> int | None:
    """Return the whole number in a part of an address or a form, None for other text."""
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else None


def write_cursor(row: Any, when: datetime) -> str:
    """Return the cursor of the page after ``row``."""
    return f"{when.isoformat()}{CURSOR_SEPARATOR}{row.pk}"


def read_cursor(text: str) -> tuple[datetime, str] | None:
    """Return the moment and key in a cursor, None for other text."""
    stamp, found, pk = text.partition(CURSOR_SEPARATOR)
    try:
        when, key = parse_datetime(stamp), uuid.UUID(pk)
    except ValueError:
        return None
    if not (found and when and when.tzinfo):
        return None
    # The first and the last year are an error in some time zone.
    return (when, str(key)) if MINYEAR < when.year < MAXYEAR else None


def behind(column: str, place: tuple[datetime, str]) -> Q:
    """Return the condition that a row is older than a place, by the moment in ``column``."""
    when, pk = place
    return Q(**{f"{column}__lt": when}) | Q(**{column: when, "pk__lt": pk})
