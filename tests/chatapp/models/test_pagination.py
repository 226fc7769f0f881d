"""Where a list goes on: what no list has written begins it anew."""

import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest

from chatapp.models import Conversation
from chatapp.models.pagination import read_cursor, write_cursor

KEY = uuid.UUID(int=7)


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=14))])
def test_a_cursor_is_read_as_it_was_written(zone: timezone) -> None:
    """The moment and the key."""
    when = datetime(2026, 1, 2, 3, 4, 5, 678_901, zone)
    assert read_cursor(write_cursor(Conversation(pk=KEY), when)) == (when, str(KEY))


STAMPS = [
    "", "here", "2026-01-02", "2026-13-02T03:04:05+00:00", "2026-01-02T03:04:05",
    "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59-00:00",
]  # fmt: skip
CURSORS = [f"{stamp}_{KEY}" for stamp in STAMPS]
CURSORS += [f"2026-01-02T03:04:05+00:00_{pk}" for pk in ("", "7", f"{KEY}_", f"_{KEY}")]


@pytest.mark.parametrize("cursor", CURSORS)
def test_a_moment_or_a_key_that_no_row_can_have_is_none(cursor: str) -> None:
    """Nor is a moment that some time zone has not."""
    assert read_cursor(cursor) is None
