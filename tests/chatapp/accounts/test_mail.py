"""Mail: links to new passwords, through a mail server of the tests' own."""

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from tests.chatapp.test_settings import Load, load
from tests.cluster.services import free_port

__all__ = ["load"]

LINK = re.compile(r"http://testserver(/account/password/reset/key/\S+)")
NEW = {"password1": "quite another one", "password2": "quite another one"}


class Session(StreamRequestHandler):
    """One client's talk with the server, which takes every mail."""

    server: "MailServer"

    def handle(self) -> None:
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


def mail_settings(load: Load, settings: Settings, port: int) -> None:
    """Have the server send mail through a port of this machine."""
    loaded = load(EMAIL_URL=f"smtp://127.0.0.1:{port}", EMAIL_FROM="chat@example.org")
    for name in ("MAIL_SERVER", "MAILERS", "DEFAULT_FROM_EMAIL"):
        setattr(settings, name, loaded[name])


@pytest.fixture
def mails(load: Load, settings: Settings) -> Iterator[list[EmailMessage]]:
    """What arrives at the mail server that the settings name."""
    with MailServer() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        mail_settings(load, settings, server.server_address[1])
        yield server.mails
        server.shutdown()
        thread.join()


@pytest.fixture
def bob(bob: User) -> User:
    """Bob, with a mail address."""
    bob.email = "bob@example.org"
    bob.save()
    return bob


def ask(address: str, **meta: Any) -> tuple[int, str, str]:
    """Return what is answered to who asks for a new password: status, place and words."""
    place = reverse("account_reset_password")
    answer: Any = Client(**meta).post(place, {"email": address}, follow=True)
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
    guest = Client()
    form = guest.get(found[1], follow=True)
    guest.post(form.redirect_chain[-1][0], NEW)
    signed = Client().post(reverse("account_login"), {"login": "bob", "password": NEW["password1"]})
    assert signed["Location"] == reverse("conversations")
    assert 'name="password1"' not in Client().get(found[1], follow=True).text


def test_nobody_learns_who_has_an_account(bob: User, mails: list[EmailMessage]) -> None:
    """Not by the answer, nor by whether it is mailed; who is deactivated has none."""
    known = ask("bob@example.org")
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert ask("bob@example.org") == ask("nobody@example.org") == known
    assert [mail["To"] for mail in mails] == ["bob@example.org"] * 2 + ["nobody@example.org"]
    for mail in mails[1:]:
        assert "There is no account with this mail address" in mail.get_content()
        assert not LINK.search(mail.get_content())


def test_a_mail_server_that_is_away_is_a_sentence(
    bob: User, load: Load, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """The same whoever asks, and a line in the log without an address."""
    mail_settings(load, settings, free_port())
    known = ask("bob@example.org")
    assert (known[0], "Try again later" in known[2]) == (503, True)
    assert ask("nobody@example.org") == known
    said = [one.getMessage() for one in caplog.records if one.name == "chatapp.accounts.adapters"]
    assert said == ["mail can't be sent: ConnectionRefusedError"] * 2


def test_who_asks_too_often_holds_nobody_else_back(bob: User, mails: list[EmailMessage]) -> None:
    """Not even at the same account, from another network."""
    *asked, (status, _place, words) = [
        ask("bob@example.org", REMOTE_ADDR="192.0.2.66") for _ in range(6)
    ]
    assert [one[0] for one in asked] == [200] * 5
    assert (status, "Wait a few minutes" in words) == (429, True)
    assert ask("bob@example.org", REMOTE_ADDR="192.0.2.7")[0] == 200
    assert len(mails) == 6
