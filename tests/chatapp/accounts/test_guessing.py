"""Guesses at passwords, tokens and invitations hold back whoever guesses, and nobody else."""

import itertools
from collections.abc import Callable, Iterable
from ipaddress import ip_network
from typing import Any, cast

import pytest
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from asgiref.sync import async_to_sync
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.core.cache.backends.locmem import LocMemCache
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django import Settings

from chatapp.accounts import invitations, rate_limits
from chatapp.accounts.rate_limits import AT_ONE_ACCOUNT
from tests.chatapp.accounts.members import prove
from tests.chatapp.gateway.programs import visit
from tests.chatapp.web.api.programs import bearer

Ask = Callable[[str], int]
GUESSER = "192.0.2.66"
# So many guesses from one network are looked at here, to ask less often.
MANY = 20
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def proxy(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """All requests come from a proxy, which says for whom; few guesses are too many."""
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.1"), ip_network("10.0.0.0/8")]
    monkeypatch.setattr(rate_limits, "FROM_ONE_NETWORK", MANY)


def client(at: str, **headers: str) -> Client:
    """Return a client at an address, as the proxy passes on what it sends."""
    return Client(headers={"X-Forwarded-For": f"198.51.100.9, {at}", **headers})


def guess_token(at: str) -> int:
    """Return the status of a program with a wrong token."""
    wrong = {"Authorization": "Bearer nothing"}
    return client(at, **wrong).get("/api/conversations").status_code


def guess_at_gateway(at: str) -> int:
    """Return the status of a guess there, through a proxy that adds a line of its own."""
    told: Any = {"X_Forwarded_For": f"198.51.100.{next(_numbers)}", "x_forwarded_for": at}
    return async_to_sync(visit)("/v1/models", "nothing", method="GET", **told).status


def ask_for_password(at: str) -> int:
    """Return the status of asking for a new password of Alice's."""
    form = {"email": "alice@example.org"}
    return client(at).post(reverse("account_reset_password"), form).status_code


def sign_in(password: str, *, name: str = "alice", **meta: str) -> int:
    """Return the status of an attempt to sign in: 302 where it succeeds, 429 where none is read."""
    form = {"login": name, "password": password}
    answer = Client(**meta).post(reverse("account_login"), form)
    return 429 if "Too many passwords were wrong." in answer.text else answer.status_code


def guess_password(at: str) -> int:
    """Return the status of signing in with a wrong password, by two proxies, the inner first."""
    chain = f"198.51.100.9, {at}, 10.0.0.3"
    return sign_in("wrong", HTTP_X_FORWARDED_FOR=chain)


GUESSES: list[tuple[Ask, int, int]] = [
    (guess_token, MANY, 401),
    (guess_at_gateway, MANY, 401),
    (ask_for_password, 5, 302),
    (guess_password, AT_ONE_ACCOUNT, 200),
]
NETWORKS = [
    (["[2001:db8::1]:1", "2001:db8::2"], "[2001:db8::3]:2", "2001:db8:0:2::1"),
    ([GUESSER], GUESSER, "192.0.2.7"),
    ([f"{GUESSER}:1", f"{GUESSER}:2"], f"{GUESSER}:3", "192.0.2.7:1"),
    ([f"::ffff:{GUESSER}", f"[::ffff:{GUESSER}]:2"], GUESSER, "::ffff:192.0.2.7"),
    (["2001:db8:0:1::1", "2001:db8:0:1:2::2"], "2001:db8:0:1:ffff::3", "2001:db8:0:2::1"),
]


@pytest.mark.parametrize(
    ("ask", "times", "answered", "guessers", "same", "other"),
    [
        pytest.param(*guess, *network, marks=[pytest.mark.rare] if one and other else [])
        for one, guess in enumerate(GUESSES)
        for other, network in enumerate(NETWORKS)
    ],
)
def test_one_network_is_held_back_and_no_other(
    alice: User,
    ask: Ask,
    times: int,
    answered: int,
    guessers: list[str],
    same: str,
    other: str,
) -> None:
    """An IPv6 address counts with its network; who guesses elsewhere has counts of their own."""
    asked = [ask(guessers[number % len(guessers)]) for number in range(times)]
    assert asked == [answered] * times
    assert ask(same) == 429
    assert [ask(other) for _ in range(times)] == [answered] * times
    assert ask(other) == 429


def test_a_proxy_that_is_seen_by_an_ipv6_socket_is_trusted(browser: Client) -> None:
    """As where the server listens on both kinds of address."""
    here = {"REMOTE_ADDR": "::ffff:127.0.0.1"}
    browser.get(reverse("settings"), headers={"X-Forwarded-For": GUESSER}, **here)
    assert UserSession.objects.get().ip == GUESSER


def test_what_is_no_address_is_none(browser: Client) -> None:
    """Whoever is named by a word is counted, and noted, with the proxy."""
    for number in range(MANY):
        guess_token(f"unknown{number}")
    assert guess_token("unknown") == 429
    browser.get(reverse("settings"), headers={"X-Forwarded-For": "unknown"})
    assert UserSession.objects.get().ip == "127.0.0.1"


def test_guesses_hold_back_nobody_who_has_what_opens(alice: User) -> None:
    """A good token and a good invitation open at the guesser's own address, too."""
    good = bearer(alice)
    alice.is_superuser = True
    alice.save()
    invitation = invitations.invite(by=alice, role="member")

    def statuses(tokens: Iterable[str]) -> set[int]:
        places = (reverse("invitation", args=[token]) for token in tokens)
        return {client(GUESSER).get(place).status_code for place in places}

    for _ in range(MANY + 1):
        guess_token(GUESSER)
    assert guess_token(GUESSER) == 429
    assert client(GUESSER, **good).get("/api/conversations").status_code == 200
    assert statuses(f"wrong{number}" for number in range(MANY + 1)) == {403}
    assert statuses([invitation]) == {200}


def test_a_password_is_asked_for_whatever_tokens_were_wrong(alice: User) -> None:
    """Each kind of guess has counts of its own."""
    for _ in range(MANY + 1):
        guess_token(GUESSER)
    assert sign_in("correct horse", HTTP_X_FORWARDED_FOR=GUESSER) == 302


def test_guessing_at_a_password_is_limited(alice: User) -> None:
    """After ten wrong ones not even the right one is looked at, for a while; one starts anew."""
    assert [sign_in("wrong") for _ in range(9)] == [200] * 9
    assert sign_in("correct horse") == 302
    assert [sign_in("wrong") for _ in range(11)] == [200] * 10 + [429]
    assert sign_in("correct horse") == 429
    assert sign_in("correct horse", REMOTE_ADDR="192.0.2.7") == 302


def test_an_ipv4_address_in_ipv6_form_is_one_alone(alice: User) -> None:
    """As a server sees it that listens on both kinds of address."""
    for _ in range(AT_ONE_ACCOUNT):
        sign_in("wrong", REMOTE_ADDR=f"::ffff:{GUESSER}")
    assert sign_in("correct horse", REMOTE_ADDR=f"::ffff:{GUESSER}") == 429
    assert sign_in("correct horse", REMOTE_ADDR="::ffff:192.0.2.7") == 302


class CountedHasher(MD5PasswordHasher):
    """Counts what it computes."""

    computed = 0

    def encode(self, password: str, salt: str) -> str:
        """Return the hash, and count it."""
        type(self).computed += 1
        return super().encode(password, salt)


def test_a_wrong_password_is_looked_at_once(alice: User, bob: User, settings: Settings) -> None:
    """Whoever is named, in whichever way: the time tells nobody who has an account."""
    settings.PASSWORD_HASHERS = [f"{__name__}.{CountedHasher.__qualname__}"]
    prove(alice, "alice@example.org")
    for user in (alice, bob):
        EmailAddress.objects.create(user=user, email="claimed@example.org")
    User.objects.create_user("linked")
    names = ("alice", "alice@example.org", "claimed@example.org", "nobody@example.org", "linked")
    told = []
    for name in (*names, "x" * 100_000):
        CountedHasher.computed = 0
        form = {"login": name, "password": "wrong"}
        answer = Client().post(reverse("account_login"), form)
        said = answer.context["form"].errors.as_text().replace("email address", "username")
        told.append((answer.status_code, said, CountedHasher.computed))
    assert told == [told[0]] * 6
    assert told[0][2] == 1


class BusyHasher(CountedHasher):
    """A hasher that is still at work while the next guesses come."""

    def encode(self, password: str, salt: str) -> str:
        """Return the hash, after all guesses that come meanwhile."""
        if CountedHasher.computed < 2 * AT_ONE_ACCOUNT:
            CountedHasher.computed += 1
            request = RequestFactory().post("/", REMOTE_ADDR=GUESSER)
            authenticate(request, username="alice", password="wrong")
        return MD5PasswordHasher.encode(self, password, salt)


def test_guesses_at_the_same_time_do_not_pass_the_limit_together(
    alice: User, settings: Settings
) -> None:
    """A guess is counted before it is looked at; the right password is none."""
    settings.PASSWORD_HASHERS = [f"{__name__}.{BusyHasher.__qualname__}"]
    CountedHasher.computed = 0
    assert sign_in("wrong", REMOTE_ADDR=GUESSER) == 200
    assert CountedHasher.computed == AT_ONE_ACCOUNT
    for _ in range(MANY + 1):
        assert sign_in("correct horse", REMOTE_ADDR="192.0.2.7") == 302


def test_trying_one_password_on_many_names_is_limited(alice: User) -> None:
    """By the address that they come from."""
    for number in range(MANY):
        sign_in("123456", name=f"user{number}")
    assert sign_in("correct horse") == 429


def test_nobody_but_a_trusted_proxy_says_where_a_request_comes_from(alice: User) -> None:
    """Whoever names another address with each guess is held back all the same."""
    for number in range(AT_ONE_ACCOUNT):
        sign_in("wrong", REMOTE_ADDR="203.0.113.9", HTTP_X_FORWARDED_FOR=f"198.51.100.{number}")
    held = {"REMOTE_ADDR": "203.0.113.9", "HTTP_X_FORWARDED_FOR": "203.0.113.1"}
    assert sign_in("correct horse", **held) == 429


def test_a_guesser_is_not_released_by_the_guesses_of_many_others(
    alice: User, rf: RequestFactory
) -> None:
    """Counts are kept for more networks than anybody can guess from."""

    def guess(password: str, address: str) -> User | None:
        request = rf.post("/", REMOTE_ADDR=address)
        return cast("User | None", authenticate(request, username="alice", password=password))

    for _attempt in range(AT_ONE_ACCOUNT):
        guess("wrong", GUESSER)
    for number in range(200):
        guess("wrong", f"198.51.100.{number}")
    assert guess("correct horse", GUESSER) is None
    assert guess("correct horse", "192.0.2.7") == alice


class ExpiringCache(LocMemCache):
    """A cache in which a count that is there expires before it can be increased."""

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        """Expire the count first."""
        self.delete(key, version=version)
        return super().incr(key, delta, version=version)


def test_a_count_that_expires_meanwhile_begins_anew(alice: User, settings: Settings) -> None:
    """A wrong password is answered as such, at any moment."""
    backend = f"{__name__}.{ExpiringCache.__qualname__}"
    settings.CACHES = {"default": {"BACKEND": backend}}
    assert [sign_in("wrong") for _ in range(2)] == [200, 200]
