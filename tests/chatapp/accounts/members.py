"""Members as they sign in, and what an operator does to one of them."""

from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

RIGHT = {"login": "alice", "password": "correct horse"}


def signed_in(name: str = RIGHT["login"], password: str = RIGHT["password"], **meta: str) -> Client:
    """Return a browser in which somebody, Alice by default, has signed in by a password."""
    client = Client(**meta)
    client.post(reverse("account_login"), {"login": name, "password": password})
    return client


def is_in(browser: Client) -> bool:
    """Whether a browser is signed in."""
    return browser.get(reverse("settings")).status_code == 200


def change(operator: Client, user: User, action: str, **sent: str) -> str:
    """Do one thing to a user, and return the page that the operator sees then."""
    return operator.post(reverse("change_user", args=[user.pk, action]), sent, follow=True).text


def confirm(browser: Client, password: str = RIGHT["password"], **meta: str) -> None:
    """Type the password again, as what is sensitive asks for."""
    browser.post(reverse("account_reauthenticate"), {"password": password}, **meta)


def prove(user: User, address: str) -> None:
    """Have somebody proved that a mail address is theirs."""
    EmailAddress.objects.create(user=user, email=address, verified=True, primary=True)


def sets_password_once(name: str, link: str) -> bool:
    """Set a new password by a link; whether that opens the account, and the link is used up."""
    guest, new = Client(), {"password1": "quite another one", "password2": "quite another one"}
    form = guest.get(link, follow=True)
    guest.post(form.redirect_chain[-1][0], new)
    used = 'name="password1"' not in Client().get(link, follow=True).text
    return used and is_in(signed_in(name, new["password1"]))
