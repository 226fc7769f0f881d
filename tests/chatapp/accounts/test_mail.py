"""Mail: links to new passwords, through a mail server of the tests' own."""

import logging
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext
from pytest_django import Settings

from tests.chatapp.accounts.members import (
    change,
    confirm,
    is_in,
    prove,
    sets_password_once,
    signed_in,
)
from tests.chatapp.browsers import choose
from tests.chatapp.loaded_settings import Load, load
from tests.chatapp.other_languages import OTHERS
from tests.cluster.services import free_port

__all__ = ["load"]

# What one query has and the same of another not.
WORTH = re.compile(r"'[^']*'|\b\d+\b")
CONFIRM = re.compile(r"http://testserver(/account/confirm-email/\S+)")
LINK = re.compile(r"http://testserver(/account/password/reset/key/\S+)")


class Session(StreamRequestHandler):
    """One client's talk with the server, which takes every mail."""

    server: "MailServer"

    def handle(self) -> None:
        self.server.visits += 1
        self._say(220)
        for line in self.rfile:
            match line[:4].upper():
                case b"DATA":
                    self._say(354)
                    text = b"".join(iter(self.rfile.readline, b".\r\n"))
                    mail = message_from_bytes(text, policy=policy.default)
                    assert isinstance(mail, EmailMessage)
                    self.server.mails.append(mail)
                    self._say(250)
                case b"QUIT":
                    return self._say(221)
                case _:
                    self._say(250)
        return None

    def _say(self, code: int) -> None:
        self.wfile.write(f"{code} here\r\n".encode())


class MailServer(ThreadingTCPServer):
    """Speaks SMTP on loopback, and keeps what it is sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Session)
        self.mails: list[EmailMessage] = []
        self.visits = 0


def mail_settings(load: Load, settings: Settings, port: int) -> None:
    """Have the server send mail through a port of this machine."""
    loaded = load(EMAIL_URL=f"smtp://127.0.0.1:{port}", EMAIL_FROM="chat@example.org")
    names = ("MAIL_SERVER", "MAILERS", "DEFAULT_FROM_EMAIL", "ACCOUNT_EMAIL_VERIFICATION")
    for name in names:
        setattr(settings, name, loaded[name])


@pytest.fixture(scope="module")
def mail_server() -> Iterator[MailServer]:
    """A server that takes every mail."""
    with MailServer() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def mails(load: Load, settings: Settings, mail_server: MailServer) -> list[EmailMessage]:
    """What arrives at the mail server that the settings name."""
    mail_server.mails.clear()
    mail_settings(load, settings, mail_server.server_address[1])
    return mail_server.mails


@pytest.fixture
def bob(bob: User) -> User:
    """Bob, with a mail address."""
    prove(bob, "bob@example.org")
    return bob


def settle() -> None:
    """Wait for mails that are on their way."""
    for thread in enumerate_threads():
        if thread.name == "mail":
            thread.join()


def ask(address: str, **meta: Any) -> tuple[int, str, str]:
    """Return what is answered to who asks for a new password: status, place and words."""
    place = reverse("account_reset_password")
    answer: Any = Client(**meta).post(place, {"email": address}, follow=True)
    settle()
    words = answer.text.partition("<h1>")[2].partition("</main>")[0]
    return answer.status_code, answer.request["PATH_INFO"], words


def test_a_mail_brings_a_link_to_a_new_password_once(bob: User, mails: list[EmailMessage]) -> None:
    """As plain text, from whom the operator named."""
    assert "Send the link" in Client().get(reverse("account_reset_password")).text
    status, _place, words = ask("bob@example.org")
    assert (status, "Look into your mail" in words) == (200, True)
    (mail,) = mails
    assert (mail["From"], mail["To"]) == ("chat@example.org", "bob@example.org")
    assert mail.get_content_type() == "text/plain"
    found = LINK.search(mail.get_content())
    assert found
    assert sets_password_once("bob", found[1])


def test_nobody_learns_who_has_an_account(
    alice: User, bob: User, mails: list[EmailMessage], mail_server: MailServer
) -> None:
    """By no answer, nor by what is done for it; who is deactivated, or claims one, has none.

    Nothing is mailed to who has none.
    """
    EmailAddress.objects.create(user=alice, email="claimed@example.org")
    User.objects.filter(pk=alice.pk).update(email="old@example.org")
    told, done = [], []
    for address in ("bob@", "bob@", "nobody@", "claimed@", "old@"):
        User.objects.filter(pk=bob.pk).update(is_active=not told)
        before = mail_server.visits
        with CaptureQueriesContext(connection) as queries:
            told.append(ask(f"{address}example.org"))
        done.append(([WORTH.sub("?", one["sql"]) for one in queries], mail_server.visits - before))
    assert told == [told[0]] * 5
    assert done == [done[0]] * 5
    assert [mail["To"] for mail in mails] == ["bob@example.org"]


def test_an_address_is_theirs_who_prove_it(
    alice: User, bob: User, browser: Client, mails: list[EmailMessage], settings: Settings
) -> None:
    """Who only names it keeps nobody from that: not from joining, nor from signing in with it."""
    settings.ALLOW_REGISTRATION = True
    address = "boss@example.org"
    place, added = reverse("account_email"), {"action_add": "", "email": address}
    # Whoever only has a session would get a new password by it.
    assert browser.post(place, added)["Location"].startswith(reverse("account_reauthenticate"))
    assert not EmailAddress.objects.filter(user=alice).exists()
    confirm(browser)
    browser.post(place, added)
    User.objects.filter(pk=alice.pk).update(email=address)
    boss = Client()
    password = dict.fromkeys(("password1", "password2"), "quite another one")
    boss.post(reverse("account_signup"), {"username": "boss", "email": address} | password)
    settle()
    assert is_in(boss)
    assert not is_in(signed_in(address, "correct horse"))
    assert not is_in(signed_in(address, "quite another one"))
    links = [CONFIRM.search(mail.get_content()) for mail in mails]
    for link in [links[-1], links[0]]:
        assert link
        boss.post(link[1])
    proved = EmailAddress.objects.filter(verified=True, email=address)
    assert [one.user.username for one in proved] == ["boss"]
    assert is_in(signed_in(address, "quite another one"))


def test_few_mails_go_to_who_did_not_ask(browser: Client, mails: list[EmailMessage]) -> None:
    """To whatever addresses: each account has five in an hour."""
    confirm(browser)
    for number in range(7):
        added = {"action_add": "", "email": f"stranger{number}@example.org"}
        browser.post(reverse("account_email"), added)
    settle()
    assert len(mails) == 5


def test_an_address_has_as_many_characters_as_are_stored(browser: Client, alice: User) -> None:
    """No database has to refuse one."""
    confirm(browser)
    for name, taken in (("a" * 243, False), ("a" * 242, True)):
        added = {"action_add": "", "email": f"{name}@example.org"}
        assert browser.post(reverse("account_email"), added).status_code < 500
        assert EmailAddress.objects.filter(user=alice).exists() == taken


def test_who_makes_an_account_is_in_while_no_mail_can_be_sent(
    load: Load, settings: Settings, db: None
) -> None:
    """The address is proved later."""
    settings.ALLOW_REGISTRATION = True
    mail_settings(load, settings, free_port())
    guest = Client()
    password = dict.fromkeys(("password1", "password2"), "quite another one")
    new = {"username": "new", "email": "new@example.org"}
    guest.post(reverse("account_signup"), new | password)
    assert is_in(guest)


def test_a_mail_server_that_is_away_is_a_sentence(
    bob: User, load: Load, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """The same whoever asks, in their language alone; a line in the log has no address."""
    mail_settings(load, settings, free_port())
    choose(bob, "de")
    known = ask("bob@example.org")
    assert (known[0], "Try again later" in known[2]) == (503, True)
    assert ask("nobody@example.org") == known
    french, german = (ask("bob@example.org", HTTP_ACCEPT_LANGUAGE=one)[2] for one in ("fr", "de"))
    assert len({known[2], french, german}) == 3
    said = [one.getMessage() for one in caplog.records if one.name == "chatapp.accounts.adapters"]
    assert said == ["mail can't be sent: ConnectionRefusedError"] * 4


def test_who_asks_too_often_holds_nobody_else_back(bob: User, mails: list[EmailMessage]) -> None:
    """Not even at the same account, from another network; who is meant gets few mails."""
    *asked, (status, _place, words) = [
        ask("bob@example.org", REMOTE_ADDR="192.0.2.66") for _ in range(6)
    ]
    assert [one[0] for one in asked] == [200] * 5
    assert (status, "Wait a few minutes" in words) == (429, True)
    for number in range(3):
        assert ask("bob@example.org", REMOTE_ADDR=f"192.0.2.{number}")[0] == 200
    assert len(mails) == 5


def in_language(language: str, *sentences: str) -> list[str]:
    """Return sentences as that language has them."""
    with translation.override(language):
        return [gettext(one) for one in sentences]


NEW_PASSWORD = ("A new password", "If that was not you, do nothing: your password stays as it is.")


@pytest.mark.parametrize("language", OTHERS)
def test_a_mail_is_in_the_language_that_its_reader_has_chosen(
    bob: User, operator: Client, alice: User, mails: list[EmailMessage], language: str
) -> None:
    """Whoever caused it: an operator who has chosen another one sees the page in that."""
    other = "fr" if language == "de" else "de"
    choose(bob, language)
    choose(alice, other)
    asked = {"email": "bob@example.org"}
    page = operator.post(reverse("account_reset_password"), asked, follow=True)
    settle()
    (mail,) = mails
    subject, last = in_language(language, *NEW_PASSWORD)
    assert subject != NEW_PASSWORD[0]
    assert mail["Subject"].endswith(subject)
    assert last in mail.get_content()
    assert NEW_PASSWORD[1] not in mail.get_content()
    assert (page["Content-Language"], f'<html lang="{other}"' in page.text) == (other, True)


def test_where_nobody_has_chosen_a_mail_is_in_the_browsers_language(
    bob: User, mails: list[EmailMessage]
) -> None:
    """That of the sign-in page, where one was chosen there."""
    ask("bob@example.org", HTTP_ACCEPT_LANGUAGE="fr")
    guest = Client(HTTP_ACCEPT_LANGUAGE="fr")
    guest.post(reverse("set_language"), {"language": "ko"})
    guest.post(reverse("account_reset_password"), {"email": "bob@example.org"})
    settle()
    ask("bob@example.org", HTTP_ACCEPT_LANGUAGE="it")
    for mail, language in zip(mails, ("fr", "ko", "en"), strict=True):
        subject, last = in_language(language, *NEW_PASSWORD)
        assert mail["Subject"].endswith(subject)
        assert last in mail.get_content()


@pytest.mark.parametrize("language", ["ar", "de", "ja"])
def test_a_new_address_is_confirmed_in_the_chosen_language(
    browser: Client, alice: User, mails: list[EmailMessage], language: str
) -> None:
    """In the words of django-allauth."""
    choose(alice, language)
    confirm(browser)
    added = {"action_add": "", "email": "alice@example.org"}
    browser.post(reverse("account_email"), added, headers={"Accept-Language": "fr"})
    settle()
    (mail,) = mails
    (subject,) = in_language(language, "Please Confirm Your Email Address")
    assert subject != "Please Confirm Your Email Address"
    assert mail["Subject"].endswith(subject)
    assert "/account/confirm-email/" in mail.get_content()
    assert "alice" in mail.get_content()
    assert "receiving" not in mail.get_content()


@pytest.mark.parametrize("how", ["page", "command"])
def test_a_lost_second_factor_is_removed_on_record(
    operator: Client,
    alice: User,
    bob: User,
    mails: list[EmailMessage],
    caplog: pytest.LogCaptureFixture,
    how: str,
) -> None:
    """By an operator, who alone is offered it, or on the machine; whose it was is told by mail."""
    choose(bob, "de")
    assert reverse("change_user", args=[bob.pk, "factor"]) not in operator.get("/users/").text
    TOTP.activate(bob, generate_totp_secret())
    RecoveryCodes.activate(bob)
    assert not is_in(signed_in("bob", "battery staple"))
    assert reverse("change_user", args=[bob.pk, "factor"]) in operator.get("/users/").text
    with caplog.at_level(logging.INFO):
        if how == "page":
            confirm(operator)
            change(operator, bob, "factor")
        else:
            call_command("remove_second_factor", "bob")
    assert is_in(signed_in("bob", "battery staple"))
    said = [one.getMessage() for one in caplog.records if one.name.startswith("chatapp.")]
    assert said[-1] == f"second factor and passkeys of user {bob.pk} were removed"
    assert said[:-1] == [f"an operator asks this of user {bob.pk}: factor"] * (how == "page")
    (mail,) = mails
    assert (mail["To"], "bob" in mail.get_content()) == ("bob@example.org", True)
    (subject,) = in_language("de", "Second factor and passkeys")
    assert mail["Subject"] == subject
    with pytest.raises(CommandError, match="nobody"):
        call_command("remove_second_factor", "nobody")


def test_a_second_factor_is_removed_while_no_mail_can_be_sent(
    operator: Client, bob: User, load: Load, settings: Settings
) -> None:
    """Who is locked out need not wait for the mail server."""
    mail_settings(load, settings, free_port())
    TOTP.activate(bob, generate_totp_secret())
    confirm(operator)
    change(operator, bob, "factor")
    assert is_in(signed_in("bob", "battery staple"))
