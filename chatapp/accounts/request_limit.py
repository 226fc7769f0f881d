"""The limit on requests: how many pages, API calls and messages a user may send in a minute."""

import time

from django.conf import settings
from django.core.cache import caches
from django.utils.translation import ngettext

from chatapp.accounts.credentials import count_up
from chatapp.errors import LimitReached
from chatapp.models import ServerSettings
from chatapp.number_formats import number

MINUTE = 60
# Seconds for which nobody waits for Redis again, once it was away: each process counts alone then.
AWAY = 10


def count_request(user_pk: int) -> None:
    """Count a request of a user's; raise LimitReached once there were too many in this minute."""
    most = ServerSettings.read().requests_per_minute
    if most is None:
        return
    minute, gone = divmod(int(time.time()), MINUTE)
    if _count(f"requests-{user_pk}-{minute}") <= most:
        return
    words = ngettext(
        "You may send %(most)s request a minute, and have. Go on in %(seconds)s seconds.",
        "You may send %(most)s requests a minute, and have. Go on in %(seconds)s seconds.",
        most,
    )
    left = MINUTE - gone
    raise LimitReached(words % {"most": number(most), "seconds": left}, retry_after=left)


def _count(key: str) -> int:
    """Return how many were counted; in this process alone while Redis is away."""
    alone = caches["visits"]
    if not alone.get("redis-away"):
        try:
            return count_up(key, MINUTE)
        except _failures():
            alone.set("redis-away", True, AWAY)
    return count_up(key, MINUTE, alone)


def _failures() -> tuple[type[Exception], ...]:
    if not settings.CLUSTER:
        return ()
    from redis import RedisError  # noqa: PLC0415 - comes with the extra "scale"

    return (RedisError,)
