"""What was spent, and since when it counts."""

from datetime import timedelta

from django.utils import timezone

from chatapp.models.spending import month_start


def test_a_month_begins_at_midnight_of_its_first_day() -> None:
    """By UTC, wherever anybody is."""
    start = month_start()
    assert (start.day, start.hour, start.minute, start.second, start.microsecond) == (1, 0, 0, 0, 0)
    assert start.utcoffset() == timedelta(0)
    assert timedelta(0) <= timezone.now() - start < timedelta(days=31)
