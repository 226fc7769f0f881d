"""Sign-in with a password, and the limits on guessing."""

import hashlib
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, override

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest

# Wrong guesses within SECONDS: at one account from one network, and from one network at all.
AT_ONE_ACCOUNT = 10
FROM_ONE_NETWORK = 50
SECONDS = 15 * 60
# Who has one IPv6 address has all with the same first bits.
IPV6_PREFIX = 64


class Brake:
    """Counts wrong guesses from a network, at ``account`` and at all, at one ``door``.

    Each door has counts of its own, and nobody's guesses hold back another network.
    """

    def __init__(self, request: HttpRequest | None, *, door: str, account: str = "") -> None:
        network = _network(request.META.get("REMOTE_ADDR", "") if request else "")
        self._limits = {_key(door, network): FROM_ONE_NETWORK}
        self._account_key = _key(door, network, account.casefold())
        if account:
            self._limits[self._account_key] = AT_ONE_ACCOUNT

    @property
    def is_on(self) -> bool:
        """Whether so many guesses were wrong that no other is looked at for a while."""
        return any(cache.get(key, 0) >= limit for key, limit in self._limits.items())

    def count(self) -> None:
        """Count a wrong guess."""
        for key in self._limits:
            count_up(key, SECONDS)

    def release(self) -> None:
        """Forget the wrong guesses at the account: its owner is here."""
        cache.delete(self._account_key)


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
        brake = Brake(request, door="sign-in", account=username or "")
        if brake.is_on:
            return None
        user = super().authenticate(request, username, password, **kwargs)
        if user is None:
            brake.count()
        else:
            brake.release()
        return user


def count_up(key: str, seconds: int) -> int:
    """Return how often this was called with a key, from the first call on for some ``seconds``."""
    if not cache.add(key, 1, seconds):
        try:
            return cache.incr(key)
        except ValueError:  # The key expired meanwhile.
            cache.set(key, 1, seconds)
    return 1


def _network(address: str) -> str:
    """Return what a client's guesses are counted by: its IPv4 address, or its IPv6 network."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    return str(parsed.ipv4_mapped or ip_network(f"{parsed}/{IPV6_PREFIX}", strict=False))


def _key(*parts: str) -> str:
    return "brake-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()
