"""Credentials: passwords with the limits on guessing, sign-in links and API tokens."""

import hashlib
from contextlib import suppress
from datetime import timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, override

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.models import User
from django.core.cache import BaseCache, cache
from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from chatapp.errors import Refused
from chatapp.models import ApiToken, SignInToken
from chatapp.models.database import lock

# Wrong guesses within SECONDS: at one account from one network, and from one network at all.
AT_ONE_ACCOUNT = 10
FROM_ONE_NETWORK = 50
SECONDS = 15 * 60
# Who has one IPv6 address has all with the same first bits.
IPV6_PREFIX = 64

SIGN_IN_LIFETIME = timedelta(hours=24)
MOST_TOKENS = 50
# How exactly it is noted when a token was last used: no read has to wait for a write.
FRESH = timedelta(minutes=1)


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
        """Whether so many guesses were wrong that no other is looked at for a while."""
        return any(cache.get(key, 0) >= limit for key, limit in self._limits.items())

    def count(self) -> None:
        """Count a wrong guess."""
        for key in self._limits:
            count_up(key, SECONDS)

    def release(self) -> None:
        """Forget the wrong guesses at the account: its owner is here."""
        cache.delete(self._account_key)


class LimitedBackend(AuthenticationBackend):
    """Accounts by name or mail address; every form that asks for a password goes through here."""

    @override
    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        """Return whose password this is; None where it is wrong, or too many were."""
        account = credentials.get("username") or credentials.get("email") or ""
        limit = GuessLimit(request, realm="sign-in", account=account)
        if limit.is_reached:
            return None
        user: User | None = super().authenticate(request, **credentials)
        limit.release() if user else limit.count()
        return user

    @override
    def get_user(self, user_id: Any) -> User | None:
        """Return whose session it is, with what each page says of their account."""
        user = User.objects.select_related("deletion").filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None


def count_up(key: str, seconds: int, store: BaseCache = cache) -> int:
    """Return how often this was called with a key, from the first call on for some ``seconds``."""
    if not store.add(key, 1, seconds):
        try:
            return store.incr(key)
        except ValueError:  # The key expired meanwhile.
            store.set(key, 1, seconds)
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
    return "limit-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()


@transaction.atomic
def create_sign_in_token(*, user: User) -> str:
    """Return a token that signs ``user`` in once, within a day; older ones end."""
    lock(User, user.pk)
    SignInToken.objects.filter(user=user).usable().delete()
    token = SignInToken.generate()
    SignInToken.objects.create(
        user=user, digest=SignInToken.digest_of(token), expires_at=timezone.now() + SIGN_IN_LIFETIME
    )
    return token


def holder_of_sign_in_token(*, token: str) -> User | None:
    """Return whom the token would sign in; None when it is unknown, used or expired."""
    usable = _usable(token).select_related("user").first()
    return usable.user if usable else None


@transaction.atomic
def redeem_sign_in_token(*, token: str) -> User | None:
    """Return whom the token signs in, and use it up; None as in ``holder_of_sign_in_token``."""
    holder = holder_of_sign_in_token(token=token)
    if holder is None:
        return None
    # Two may hold it, and one may use it.
    lock(User, holder.pk)
    return holder if _usable(token).update(used_at=timezone.now()) else None


def _usable(token: str) -> QuerySet[SignInToken]:
    return SignInToken.objects.filter(digest=SignInToken.digest_of(token)).usable()


@transaction.atomic
def create_api_token(*, owner: User, name: str, scope: str) -> str:
    """Return a new token in clear, which nobody can show again."""
    lock(User, owner.pk)
    if ApiToken.objects.filter(owner=owner).count() >= MOST_TOKENS:
        raise Refused(_("You have %d tokens already. Revoke one first.") % MOST_TOKENS)
    token = ApiToken.generate()
    digest = ApiToken.digest_of(token)
    ApiToken.objects.create(owner=owner, name=name, scope=scope, digest=digest)
    return token


def holder_of_api_token(*, token: str) -> ApiToken | None:
    """Return the row of a token with its owner, None where it opens nothing; note its use."""
    usable = ApiToken.objects.filter(owner__is_active=True, owner__deletion=None)
    usable = usable.filter(digest=ApiToken.digest_of(token))
    found = usable.select_related("owner").first()
    now = timezone.now()
    if found and (found.used_at is None or now - found.used_at > FRESH):
        # On a full disk it can be read still.
        with suppress(OperationalError):
            ApiToken.objects.filter(pk=found.pk).update(used_at=now)
    return found
