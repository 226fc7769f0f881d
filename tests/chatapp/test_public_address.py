"""The public address: one variable, from which all follows that a server behind TLS needs."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.core.checks import CheckMessage, run_checks
from django.test import Client
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext
from pytest_django import Settings

from chatapp.models import Conversation
from chatapp.project.environment import BadEnvironment
from tests.chatapp.accounts.conftest import operator
from tests.chatapp.accounts.members import confirm
from tests.chatapp.conftest import Say
from tests.chatapp.loaded_settings import Load, load
from tests.deployment.documents import DEPLOY, variables

__all__ = ["load", "operator"]

pytestmark = pytest.mark.django_db

ADDRESS = "https://chat.example.org:8443"
DERIVED = re.compile(
    r"SECURE_|CSRF_|SESSION_COOKIE_"
    r"|(ALLOWED_HOSTS|BEHIND_TLS|PUBLIC_URL|SILENCED_SYSTEM_CHECKS|TRUSTED_PROXIES)$"
)
# As a proxy passes a request on: many leave the port out.
THERE = {"HTTP_HOST": "chat.example.org", "HTTP_X_FORWARDED_PROTO": "https"}


Give = Callable[..., None]


@pytest.fixture
def give(load: Load, settings: Settings) -> Give:
    """Give this server variables, from which its settings follow."""

    def give(**variables: str) -> None:
        for name, value in load(**variables).items():
            if DERIVED.match(name):
                setattr(settings, name, value)

    return give


@pytest.fixture
def public(give: Give) -> str:
    """The address of a server that was told that one, and nothing else."""
    give(PUBLIC_URL=ADDRESS)
    return ADDRESS


def complaints() -> list[CheckMessage]:
    """Return what `manage.py check --deploy` complains about."""
    return [one for one in run_checks(include_deployment_checks=True) if not one.is_silenced()]


def test_the_variables_of_the_documents_leave_nothing_to_complain_of(give: Give) -> None:
    """Those of one process: the others are of services, which are not here."""
    given = variables((DEPLOY / "palimpsest.env").read_text())
    give(**{name: given[name] for name in ("PUBLIC_URL", "TRUSTED_PROXIES")})
    assert complaints() == []


def test_without_an_address_one_sentence_says_what_to_do(give: Give) -> None:
    """It names the variable, and none of Django's settings."""
    give()
    (told,) = complaints()
    assert told.id == "palimpsest.W004"
    assert "Put a proxy that ends TLS in front, and set PUBLIC_URL" in str(told.hint)


@pytest.mark.parametrize(
    "address",
    ["chat.example.org", "ftp://chat.example.org", "https://", "https://chat.example.org/chat",
     "https://alice@chat.example.org", "https://chat.example.org:x", "https://[", "https://a,https://b"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(give: Give, address: str) -> None:
    """In a sentence that shows one."""
    with pytest.raises(BadEnvironment, match=r"such as https://chat\.example\.org"):
        give(PUBLIC_URL=address)


def test_pages_are_secure_at_the_public_address(public: str, browser: Client) -> None:
    """Browsers come over TLS alone from then on, and keep their cookies from all else."""
    page = browser.get(reverse("conversations"), headers={}, **THERE)
    assert page.status_code == 200
    assert page["Strict-Transport-Security"] == "max-age=31536000"
    signed = Client().post(
        reverse("account_login"), {"login": "alice", "password": "correct horse"}, **THERE
    )
    assert signed.status_code == 302
    assert all(cookie["secure"] for cookie in signed.cookies.values())


@pytest.mark.parametrize("asked", ["evil.example", "chat.example.org.evil.example", "127.0.0.1"])
def test_another_name_leads_to_the_public_address(public: str, asked: str) -> None:
    """To the same place there; what would change something is refused."""
    place, other = "/settings/?a=1", THERE | {"HTTP_HOST": asked}
    assert Client().get(place, **other)["Location"] == f"{public}{place}"
    assert Client().head(place, **other)["Location"] == f"{public}{place}"
    refused = Client().post("/api/conversations", **other)
    assert (refused.status_code, public in refused.text) == (400, True)
    guest = Client(headers={"Accept-Language": "it, de-AT;q=0.5"})
    with translation.override("de"):
        said = gettext("This server's address is {own}: nothing is taken by another name.")
    german = guest.post("/api/conversations", **other).text
    assert german == said.format(own=public) != refused.text
    unsafe = Client().get(place, HTTP_HOST=asked)
    assert unsafe["Location"] == f"{public}{place}"


@pytest.mark.parametrize("hidden", [{"HTTP_HOST": "127.0.0.1"}, {"HTTP_X_FORWARDED_PROTO": "http"}])
def test_a_proxy_that_hides_the_address_leads_nobody_round_in_circles(
    public: str, hidden: dict[str, str]
) -> None:
    """Whoever comes back reads in a sentence what the proxy has to set."""
    guest, place = Client(), reverse("account_login")
    led = guest.get(place, **THERE | hidden)
    assert (led.status_code, led["Location"]) == (302, f"{public}{place}")
    again = guest.get(place, **THERE | hidden)
    assert again.status_code == 400
    assert "have it set the headers Host and X-Forwarded-Proto" in again.text
    assert guest.get(place, **THERE).status_code == 200
    assert guest.post(place, **THERE | hidden).status_code == 400


def test_a_name_that_nobody_allowed_is_answered_with_the_way_to_allow_it(give: Give) -> None:
    """As where the machine is opened by its address in the network."""
    give()
    answer = Client().get(reverse("account_login"), HTTP_HOST="192.0.2.7:8000")
    assert answer.status_code == 400
    assert "set PUBLIC_URL to the address that people type" in answer.text


@pytest.mark.parametrize("given", [{}, {"PUBLIC_URL": ADDRESS}, {"ALLOWED_HOSTS": ".example.org"}])
@pytest.mark.parametrize("place", ["/healthz", "/readyz", "/metrics"])
def test_whoever_watches_asks_by_any_name_and_without_tls(
    give: Give, settings: Settings, place: str, given: dict[str, str]
) -> None:
    """As a machine does that balances the load."""
    give(**given)
    settings.ALLOW_METRICS = True
    assert Client().get(place, HTTP_HOST="10.0.3.7:8001").status_code == 200


def test_no_link_has_a_name_that_a_stranger_chose(
    public: str,
    settings: Settings,
    operator: Client,
    bob: User,
    conversation: Conversation,
    say: Say,
) -> None:
    """Even where every name is allowed: invitations, new passwords and links to read."""
    settings.ALLOWED_HOSTS = ["*"]
    say("user", "Hello.")
    confirm(operator, **THERE)
    for place in (
        reverse("invite"),
        reverse("change_user", args=[bob.pk, "password"]),
        reverse("share", args=[conversation.pk]),
    ):
        page = operator.post(place, {"role": "member"}, follow=True, **THERE)
        assert f"{public}/" in page.text, place
        forged = operator.post(place, {"role": "member"}, **THERE | {"HTTP_HOST": "evil.example"})
        assert (forged.status_code, "evil.example" in forged.text) == (400, False)


def test_on_this_machine_nothing_has_to_be_set(browser: Client) -> None:
    """Pages come without TLS, and nothing makes browsers ask for it."""
    page = browser.get(reverse("conversations"), HTTP_HOST="localhost:8000")
    assert page.status_code == 200
    assert "Strict-Transport-Security" not in page
