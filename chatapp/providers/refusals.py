"""Refusals: parts of requests that servers did not take, left out of the next requests."""

import time
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

# Seconds: a server may have been started anew, and take more.
REMEMBERED = 3_600


def refused_by(*server: Hashable) -> dict[str, Any]:
    """Return what a server refused by now, for all its providers to read and to add to."""
    return _refused(server, int(time.time() / REMEMBERED))


@lru_cache(maxsize=1_000)
def _refused(_server: tuple[Hashable, ...], _period: int) -> dict[str, Any]:
    return {}


forget_refusals = _refused.cache_clear
