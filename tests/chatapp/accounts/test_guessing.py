"""Guesses at tokens, invitations and links: they hold back whoever guesses, and nobody else."""

from collections.abc import Callable, Iterable
from ipaddress import ip_network
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from chatapp.accounts import invitations
from chatapp.accounts.rate_limits import FROM_ONE_NETWORK
from tests.chatapp.api.programs import bearer

Ask = Callable[[str], int]
GUESSER = "192.0.2.66"


@pytest.fixture(autouse=True)
def proxy(settings: Settings) -> None:
    """All requests come from a proxy, which says for whom."""
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.1")]


def client(at: str, **headers: str) -> Client:
    """Return a client at an address, as the proxy passes on what it sends."""
    return Client(headers={"X-Forwarded-For": f"198.51.100.9, {at}", **headers})


def guess_token(at: str) -> int:
    """Return the status of a program with a wrong token."""
    wrong = {"Authorization": "Bearer nothing"}
    return client(at, **wrong).get("/api/conversations").status_code


def ask_for_password(at: str) -> int:
    """Return the status of asking for a new password of Alice's."""
    form = {"email": "alice@example.org"}
    return client(at).post(reverse("account_reset_password"), form).status_code


@pytest.mark.parametrize(
    ("ask", "times", "answered"),
    [(guess_token, FROM_ONE_NETWORK, 401), (ask_for_password, 5, 302)],
)
@pytest.mark.parametrize(
    ("guessers", "same", "other"),
    [
        ([GUESSER], GUESSER, "192.0.2.7"),
        ([f"{GUESSER}:1", f"{GUESSER}:2"], f"{GUESSER}:3", "192.0.2.7:1"),
        (["[2001:db8::1]:1", "2001:db8::2"], "[2001:db8::3]:2", "2001:db8:0:2::1"),
        (["2001:db8:0:1::1", "2001:db8:0:1:2::2"], "2001:db8:0:1:ffff::3", "2001:db8:0:2::1"),
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
    """An IPv6 address counts with its network; who guesses there has counts of their own."""
    asked = [ask(guessers[number % len(guessers)]) for number in range(times)]
    assert asked == [answered] * times
    assert ask(same) == 429
    assert [ask(other) for _ in range(times)] == [answered] * times
    assert ask(other) == 429


def test_a_proxy_that_is_seen_by_an_ipv6_socket_is_trusted(alice: User, browser: Client) -> None:
    """As where the server listens on both kinds of address."""
    here = {"REMOTE_ADDR": "::ffff:127.0.0.1"}
    browser.get(reverse("settings"), headers={"X-Forwarded-For": GUESSER}, **here)
    assert UserSession.objects.get().ip == GUESSER


def test_what_is_no_address_is_none(alice: User, browser: Client) -> None:
    """Whoever is named by a word is counted, and noted, with the proxy."""
    for number in range(FROM_ONE_NETWORK):
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

    for _ in range(FROM_ONE_NETWORK + 1):
        guess_token(GUESSER)
    assert guess_token(GUESSER) == 429
    assert client(GUESSER, **good).get("/api/conversations").status_code == 200
    assert statuses(f"wrong{number}" for number in range(FROM_ONE_NETWORK + 1)) == {403}
    assert statuses([invitation]) == {200}


def test_a_password_is_asked_for_whatever_tokens_were_wrong(alice: User) -> None:
    """Each kind of guess has counts of its own."""
    for _ in range(FROM_ONE_NETWORK + 1):
        guess_token(GUESSER)
    form: Any = {"login": "alice", "password": "correct horse"}
    assert client(GUESSER).post(reverse("account_login"), form).status_code == 302
