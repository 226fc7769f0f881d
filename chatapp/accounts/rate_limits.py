"""Rate limits: wrong guesses from a network, and a user's requests in a minute."""

import hashlib
import time
from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network

from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest

from chatapp.models import ServerSettings
from chatapp.models.errors import LimitReached
from chatapp.project.sentences import translate as _

# Wrong guesses within GUESS_SECONDS: at one account from one network, and from one network at all.
AT_ONE_ACCOUNT = 10
FROM_ONE_NETWORK = 50
GUESS_SECONDS = 15 * 60
# A holder of one IPv6 address holds all addresses with the same first bits.
IPV6_PREFIX = 64

MINUTE = 60


class GuessLimit:
    """Counts wrong guesses from a network, at ``account`` and at all, in one ``realm``.

    Each realm has counts of its own, and nobody's guesses hold back another network.
    """

    def __init__(self, request: HttpRequest | None, *, realm: str, account: str = "") -> None:
        network = _network(request.META.get("REMOTE_ADDR", "") if request else "")
        self._limits = {_key(realm, network): FROM_ONE_NETWORK}
        self._account_key = _key(realm, network, account.casefold())
        if account:
            self._limits[self._account_key] = AT_ONE_ACCOUNT

    @property
    def is_reached(self) -> bool:
        """True while too many guesses were wrong; no other guess is checked then."""
        return any(cache.get(key, 0) >= limit for key, limit in self._limits.items())

    def take(self) -> bool:
        """Count a guess before it is checked; return False if it may not be.

        To check one takes a while, in which any number of others may come.
        """
        if self.is_reached:
            return False
        counts = [(count_up(key, GUESS_SECONDS), limit) for key, limit in self._limits.items()]
        return all(count <= limit for count, limit in counts)

    def release(self) -> None:
        """Forget this guess, and the wrong ones at the account: its owner is here."""
        cache.delete(self._account_key)
        for key in self._limits.keys() - {self._account_key}:
            with suppress(ValueError):  # It expired meanwhile.
                cache.decr(key)


def count_up(key: str, seconds: int) -> int:
    """Return the number of calls with a key in the ``seconds`` since its first one."""
    if not cache.add(key, 1, seconds):
        try:
            return cache.incr(key)
        except ValueError:  # The key expired meanwhile.
            cache.set(key, 1, seconds)
    return 1


def _network(address: str) -> str:
    """Return the network that a client counts for: its IPv4 address, or its IPv6 prefix."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    return str(parsed.ipv4_mapped or ip_network(f"{parsed}/{IPV6_PREFIX}", strict=False))


def _key(*parts: str) -> str:
    return "limit-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()


def count_request(user: User) -> None:
    """Count a user's request; raise LimitReached beyond the limit per minute."""
    most = ServerSettings.binding(user).requests_per_minute
    if most is None:
        return
    # A minute begins with the first request of it.
    now = int(time.time())
    began: int = cache.get_or_set(f"requests-{user.pk}", now, MINUTE) or now
    if count_up(f"requests-{user.pk}-{began}", MINUTE) <= most:
        return
    # It may have begun by the clock of another machine.
    left = min(max(1, began + MINUTE - now), MINUTE)
    words = _(
        "Limit of {count:,} request a minute reached. Try again in {seconds} s.",
        "Limit of {count:,} requests a minute reached. Try again in {seconds} s.",
        count=most,
        seconds=left,
    )
    raise LimitReached(words, retry_after=left)
