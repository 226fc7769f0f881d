"""The project's own settings, of a process whose clock is wrong by ``CLOCK_HOURS``.

The project reads the time of day in these two ways. Libraries that do it from outside also change
what waits of Python's are measured by, which no wrong clock does.
"""

import os
import time
from datetime import datetime, timedelta

from django.utils import timezone

_WRONG = timedelta(hours=int(os.environ["CLOCK_HOURS"]))
_time, _now = time.time, timezone.now


def wrong_time() -> float:
    """Return the seconds since 1970 by the wrong clock."""
    return _time() + _WRONG.total_seconds()


def wrong_now() -> datetime:
    """Return the moment by the wrong clock."""
    return _now() + _WRONG


# Before any model takes them for its defaults.
time.time = wrong_time
timezone.now = wrong_now

from chatapp.settings import *  # noqa: E402, F403 - all of them
