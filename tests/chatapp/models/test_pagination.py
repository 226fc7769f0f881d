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


@pytest.mark.parametrize(
    "stamp",
    [
        "", "here", "2026-01-02", "2026-13-02T03:04:05+00:00", "2026-01-02T03:04:05",
        "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59-00:00",
    ],
)  # fmt: skip
def test_a_moment_that_no_row_can_have_is_none(stamp: str) -> None:
    """Nor is one that some time zone has not."""
    assert read_cursor(f"{stamp}_{KEY}") is None


@pytest.mark.parametrize("pk", ["", "7", f"{KEY}_", f"_{KEY}"])
def test_a_key_that_no_row_can_have_is_none(pk: str) -> None:
    """Whatever the moment."""
    assert read_cursor(f"2026-01-02T03:04:05+00:00_{pk}") is None
