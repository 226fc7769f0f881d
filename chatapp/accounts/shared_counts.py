"""Counts that all processes share in Redis; each counts alone while that is away."""

from functools import partialmethod
from typing import Any

from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from redis import RedisError

# Seconds after a failure in which Redis is not asked.
AWAY = 10


class SharedCounts(RedisCache):
    """Django's cache in Redis, which does not fail while Redis is away."""

    def _ask(self, name: str, *given: Any, **named: Any) -> Any:
        alone = caches["visits"]
        if not alone.get("redis-away"):
            try:
                return getattr(super(), name)(*given, **named)
            except RedisError:
                alone.set("redis-away", True, AWAY)
        return getattr(alone, name)(*given, **named)

    add = partialmethod(_ask, "add")
    get = partialmethod(_ask, "get")
    set = partialmethod(_ask, "set")
    incr = partialmethod(_ask, "incr")
    delete = partialmethod(_ask, "delete")
