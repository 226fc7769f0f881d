import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import (
    TOTP,
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from chatapp.models import ApiToken
from tests.chatapp.accounts.members import RIGHT, is_in, signed_in
from tests.chatapp.browsers import browser_of
from tests.chatapp.web.api.programs import bearer


def test_a_session_is_ended_from_another_one(alice: User, bob: User) -> None:
    """It says where it was seen; only its own user can end it."""
    here, there = signed_in(), signed_in(REMOTE_ADDR="192.0.2.7")
    assert is_in(there)
    assert "192.0.2.7" in here.get(reverse("settings_section", args=["account"])).text
    end = reverse("end_session", args=[UserSession.objects.get(ip="192.0.2.7").pk])
    other = browser_of(bob)
    assert other.post(end).status_code == 404
    assert is_in(there)
    assert here.post(end).status_code == 302
    assert (is_in(here), is_in(there)) == (True, False)


@pytest.mark.parametrize("boxes", [{}, {"revoke_tokens": "on"}])
def test_all_other_sessions_end_together_with_tokens_where_that_is_wanted(
    alice: User, bob: User, boxes: dict[str, str]
) -> None:
    """The box is checked at first; nobody else's token goes."""
    here, there = signed_in(), signed_in(REMOTE_ADDR="192.0.2.7")
    assert is_in(there)
    for owner in (alice, bob):
        bearer(owner)
    page = here.get(reverse("usersessions_list"))
    assert page.context["form"]["revoke_tokens"].initial is True
    assert ("192.0.2.7" in page.text, "Revoke all API tokens too" in page.text) == (True, True)
    assert here.post(reverse("usersessions_list"), boxes).status_code == 302
    assert (is_in(here), is_in(there)) == (True, False)
    kept = {*ApiToken.objects.values_list("owner__username", flat=True)}
    assert kept == {"bob", *([] if boxes else ["alice"])}


def test_an_account_can_have_another_name(browser: Client, alice: User, bob: User) -> None:
    """Unless somebody has it, in any case of its letters, or it is none."""
    for taken in ("BOB", "", "a b"):
        browser.post(reverse("rename_account"), {"username": taken})
        alice.refresh_from_db()
        assert alice.username == "alice"
    browser.post(reverse("rename_account"), {"username": "ally"})
    signed = Client().post(reverse("account_login"), RIGHT | {"login": "ally"})
    assert signed["Location"] == reverse("conversations")


@pytest.mark.parametrize(
    ("name", "is_plain"),
    [
        ("\u043ewner", False),  # a Cyrillic o
        ("\uff4f\uff57\uff4e\uff45\uff52", False),  # in full width
        ("\u19d0wner", False),  # a digit that looks like an o
        ("alice.2+z@example", True),
        ("J\u00f6rg_7", True),
        ("\u0410\u043d\u043d\u0430", True),
        ("\u5c71\u7530\u30a2\u30f3\u30ca\u30fc-taro", True),
    ],
)
def test_a_name_looks_like_no_other(
    browser: Client, alice: User, settings: Settings, name: str, *, is_plain: bool
) -> None:
    """Neither one that is new nor one that is changed; an account that has such a name keeps it."""
    browser.post(reverse("rename_account"), {"username": name})
    assert User.objects.filter(pk=alice.pk, username=name).exists() == is_plain
    User.objects.filter(pk=alice.pk).update(username="alice")
    settings.ALLOW_REGISTRATION = True
    new = dict.fromkeys(("password1", "password2"), "quite another one") | {"username": name}
    Client().post(reverse("account_signup"), new)
    assert User.objects.filter(username=name).exists() == is_plain
    User.objects.filter(pk=alice.pk).update(username=f"{name}2")
    assert is_in(signed_in(f"{name}2"))


def test_a_second_factor_can_not_be_guessed(alice: User, bob: User) -> None:
    """Whoever has the password tries few codes, from whatever address; no other user waits."""
    for user in (alice, bob):
        TOTP.activate(user, generate_totp_secret())
        RecoveryCodes.activate(user)

    def try_code(user: User, password: str, code: str, at: str) -> bool:
        guest = Client(REMOTE_ADDR=at)
        guest.post(reverse("account_login"), {"login": user.username, "password": password})
        guest.post(reverse("mfa_authenticate"), {"code": code})
        return is_in(guest)

    def code_of(user: User) -> str:
        codes = Authenticator.objects.get(user=user, type="recovery_codes")
        return str(codes.wrap().get_unused_codes()[0])

    for number in range(10):
        assert not try_code(alice, RIGHT["password"], "000000", f"192.0.2.{number}")
    assert not try_code(alice, RIGHT["password"], code_of(alice), "192.0.2.77")
    assert try_code(bob, "battery staple", code_of(bob), "192.0.2.1")


def test_a_second_factor_is_asked_for(alice: User) -> None:
    """Only who has just typed the password adds one. Its secret is stored encrypted.

    A password alone lets nobody in any more, and a recovery code does so once.
    """
    EmailAddress.objects.create(user=alice, email="not.proved@example.org")
    here = signed_in()
    assert here.get(reverse("mfa_activate_totp")).status_code == 302
    here.post(reverse("account_reauthenticate"), {"password": RIGHT["password"]})
    form = here.get(reverse("mfa_activate_totp"))
    secret: str = form.context["form"].secret

    def code() -> str:
        return format_hotp_value(hotp_value(secret, next(iter(yield_hotp_counters_from_time()))))

    here.post(reverse("mfa_activate_totp"), {"code": code()})
    assert secret not in str(Authenticator.objects.get(type="totp").data)
    guest = Client()
    asked = guest.post(reverse("account_login"), RIGHT)
    assert asked["Location"] == reverse("mfa_authenticate")
    assert not is_in(guest)
    guest.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert not is_in(guest)
    recovery = here.post(reverse("mfa_generate_recovery_codes"), follow=True)
    one = recovery.context["unused_codes"][0]
    assert guest.post(reverse("mfa_authenticate"), {"code": one}).status_code == 302
    assert is_in(guest)
    again = Client()
    again.post(reverse("account_login"), RIGHT)
    again.post(reverse("mfa_authenticate"), {"code": one})
    assert not is_in(again)


def test_a_second_factor_of_another_secret_key_is_told(alice: User, settings: Settings) -> None:
    """Whoever types a code learns who can help, and is not let in."""
    TOTP.activate(alice, generate_totp_secret())
    settings.SECRET_KEY = "another"
    guest = Client()
    guest.post(reverse("account_login"), RIGHT)
    answer = guest.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert "An operator can remove it" in answer.text
    assert not is_in(guest)
