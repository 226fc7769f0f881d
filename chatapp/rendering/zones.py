"""Time zones by name."""

import functools
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

# Set by the pages' script: the name of the reader's time zone.
ZONE_COOKIE = "zone"


@functools.lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """Return a time zone, UTC where there is none of that name."""
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        # Anybody can write anything into a cookie, and a small system has no list of zones.
        return UTC
