import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.socialaccount.models import SocialAccount
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.chatapp.accounts.members import confirm, is_in, prove
from tests.chatapp.accounts.provider import CLIENT, ODD, SECRET, providing

SERVER = "http://testserver"


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a provider."""
    with providing(tmp_path_factory.mktemp("provider"), SERVER) as address:
        yield address


@pytest.fixture
def provider(issuer: str, settings: LazySettings) -> str:
    """The provider, which this server is told of."""
    app = {"provider_id": "oidc", "name": "Example", "client_id": CLIENT, "secret": SECRET}
    app |= {"settings": {"server_url": issuer, "fetch_userinfo": True}}
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}
    }
    return issuer


def come_from(provider: str, browser: Client, name: str, **asked: str) -> tuple[int, str]:
    """Sign in at the provider; return the status and page that this server answers with."""
    sent_on = browser.get(reverse("openid_connect_login", args=["oidc"]), asked)
    assert sent_on.status_code == 302, sent_on.text
    assert sent_on["Location"].startswith(f"{provider}/identity/o/authorize")
    there = requests.Session()
    form = there.get(sent_on["Location"])
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
    assert token
    known = {"login": name, "password": name, "csrfmiddlewaretoken": token.group(1)}
    known["next"] = parse_qs(urlsplit(form.url).query)["next"][0]
    answer = there.post(form.url, known, allow_redirects=False)
    while (address := answer.headers["Location"]).startswith(("/", provider)):
        address = provider + address if address.startswith("/") else address
        answer = there.get(address, allow_redirects=False)
    assert address.startswith(SERVER)
    arrived = browser.get(address, follow=True)
    return arrived.status_code, arrived.text


@pytest.mark.parametrize(
    ("limits", "name", "joins"),
    [
        ({"OIDC_DOMAINS": ["example.org"]}, "dana", True),
        ({"OIDC_DOMAINS": ["example.org"]}, "erin", False),
        ({"OIDC_DOMAINS": ["example.org"]}, "finn", False),
        ({"OIDC_GROUPS": ["writers"]}, "dana", True),
        ({"OIDC_GROUPS": ["writers"]}, "erin", False),
        ({}, "dana", False),
        ({"ALLOW_REGISTRATION": True}, "erin", True),
    ],
)
def test_who_is_in_a_domain_or_group_joins(
    db: None,
    provider: str,
    settings: LazySettings,
    limits: dict[str, list[str]],
    name: str,
    joins: bool,
) -> None:
    """They are members, and find their account again; all others are told that they can't."""
    for key, value in limits.items():
        setattr(settings, key, value)
    for _visit in range(2):
        browser = Client()
        come_from(provider, browser, name)
        assert (browser.get(reverse("settings")).status_code == 200) == joins
    assert [*User.objects.values_list("username", "is_superuser")] == [(name, False)] * joins


@pytest.mark.parametrize("name", ODD)
def test_who_is_named_by_nothing_is_nobody(
    db: None, provider: str, settings: LazySettings, name: str
) -> None:
    """Without a subject, or with two, the page says so, and no account is made."""
    settings.ALLOW_REGISTRATION = True
    status, page = come_from(provider, Client(), name)
    assert (status, "no usable answer" in page) == (503, True)
    assert not User.objects.exists()


def test_an_address_that_is_not_verified_links_to_no_account(
    alice: User, provider: str, settings: LazySettings
) -> None:
    """Who comes with another's is somebody else; who comes with a verified one has it then."""
    settings.ALLOW_REGISTRATION = True
    prove(alice, "erin@example.com")
    for name in ("kira", "dana", "erin", "lena", "mona"):
        browser = Client()
        come_from(provider, browser, name)
        assert browser.get(reverse("settings")).status_code == 200
    owners = EmailAddress.objects.filter(verified=True).values_list("email", "user__username")
    assert {*owners} == {
        ("erin@example.com", "alice"),
        ("dana@example.org", "dana"),
        ("lena@example.org", "lena"),
        ("mona@example.org", "mona"),
    }


def test_who_has_left_the_group_is_refused(db: None, provider: str, settings: LazySettings) -> None:
    """At their next visit, with a sentence."""
    settings.OIDC_GROUPS = ["writers"]
    come_from(provider, Client(), "dana")
    settings.OIDC_GROUPS = ["readers"]
    status, page = come_from(provider, Client(), "dana")
    assert status == 403
    assert "allowed on this server. Ask its operator." in page


def test_the_sign_in_page_offers_it(db: None, provider: str) -> None:
    """By the name that the operator gave it, and leads there with a click."""
    page = Client().get(reverse("account_login")).text
    assert "Sign in with <bdi>Example</bdi>" in page
    assert reverse("openid_connect_login", args=["oidc"]) in page


def test_an_account_can_be_connected_to_it(
    browser: Client, alice: User, provider: str, settings: LazySettings
) -> None:
    """From its section in the settings, with the password: a link that somebody sends is no wish.

    A second factor is asked for on that way, too.
    """
    page = browser.get(reverse("settings_section", args=["account"])).text
    assert reverse("socialaccount_connections") in page
    come_from(provider, browser, "dana", process="connect")
    assert not SocialAccount.objects.exists()
    confirm(browser)
    assert SocialAccount.objects.get().user == alice
    come_from(provider, guest := Client(), "dana")
    assert is_in(guest)
    TOTP.activate(alice, generate_totp_secret())
    come_from(provider, guest := Client(), "dana")
    assert not is_in(guest)


def test_a_provider_that_is_away_is_said(db: None, provider: str, settings: LazySettings) -> None:
    """On a page, with what to do."""
    apps = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
    apps[0]["settings"]["server_url"] = "http://127.0.0.1:1"
    answer = Client().get(reverse("openid_connect_login", args=["oidc"]))
    assert answer.status_code == 503
    assert "Try again later" in answer.text
