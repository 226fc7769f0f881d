"""Who a password belongs to, with a brake on guessing."""

import hashlib
from typing import Any, override

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest

# Wrong passwords within SECONDS: for one name from one address, and from one address at all.
FOR_ONE_NAME = 10
FROM_ONE_ADDRESS = 50
SECONDS = 15 * 60


class Brake:
    """Counts the wrong passwords of those who try to sign in from an address.

    Each door has a count of its own: what is wrong at one closes no other.
    """

    def __init__(self, request: HttpRequest | None, name: str, *, door: str = "sign-in") -> None:
        """Name who tries; behind a proxy all addresses are the proxy's."""
        address = request.META.get("REMOTE_ADDR", "") if request else ""
        self._limits = {
            _key(door, address, name.casefold()): FOR_ONE_NAME,
            _key(door, address): FROM_ONE_ADDRESS,
        }

    @property
    def is_on(self) -> bool:
        """Whether so many were wrong that no password is looked at for a while."""
        return any(cache.get(key, 0) >= limit for key, limit in self._limits.items())

    def count(self) -> None:
        """Count a wrong password."""
        for key in self._limits:
            cache.add(key, 0, SECONDS)
            cache.incr(key)

    def release(self) -> None:
        """Forget the wrong passwords of one who knew the right one."""
        cache.delete(next(iter(self._limits)))


class BrakedBackend(ModelBackend):
    """Django's own accounts; every form that asks for a password goes through here."""

    @override
    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """Return whose password this is; None where it is wrong, or the brake is on."""
        brake = Brake(request, username or "")
        if brake.is_on:
            return None
        user = super().authenticate(request, username, password, **kwargs)
        if user is None:
            brake.count()
        else:
            brake.release()
        return user


def _key(*parts: str) -> str:
    return "brake-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()
