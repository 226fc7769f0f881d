import re

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db.models.signals import post_init
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatapp.models import Invitation

SIGNUP = {"username": "carol", "password1": "a long sentence", "password2": "a long sentence"}


def link_of(operator: Client, role: str = "member") -> str:
    """Invite somebody from the operator's page, and return the path of the link it shows."""
    made = operator.post(reverse("invite"), {"role": role})
    shown = operator.get(made["Location"]).text
    assert "It works once, within 7 days." in shown
    assert "Shared profiles: none yet." in shown
    # Its address may be opened again.
    assert operator.get(made["Location"]).text.count("/invitations/") == 1
    (link,) = {*re.findall(r"(/invitations/[^/]+/)", shown)}
    return str(link)


@pytest.mark.parametrize("role", ["member", "operator"])
def test_an_invitation_makes_one_account_with_its_role(operator: Client, role: str) -> None:
    """Whoever only looks at the link, as previews do, uses nothing up; afterwards it is used."""
    link, guest = link_of(operator, role), Client()
    assert Client().get(link).status_code == 200
    assert guest.post(link)["Location"] == reverse("account_signup")
    assert guest.post(reverse("account_signup"), SIGNUP)["Location"] == reverse("conversations")
    assert guest.get(reverse("settings")).status_code == 200
    carol = User.objects.get(username="carol")
    assert carol.is_superuser == (role == "operator")
    assert Invitation.objects.get().used_by == carol
    assert Client().get(link).status_code == 403


@pytest.mark.parametrize(
    "way", ["nothing", "expired", "revoked", "used meanwhile", "a member", "inactive"]
)
def test_nobody_joins_without_an_invitation_that_is_good(
    operator: Client, alice: User, way: str
) -> None:
    """They are told so, and no account is made: else who was operator could come back as one."""
    guest = Client()
    if way != "nothing":
        guest.post(link_of(operator))
        changes = {"expired": "expires_at", "used meanwhile": "used_at"}
        if way == "revoked":
            Invitation.objects.get().delete()
        elif way in {"a member", "inactive"}:
            lost = "is_superuser" if way == "a member" else "is_active"
            User.objects.filter(pk=alice.pk).update(**{lost: False})
        else:
            Invitation.objects.update(**{changes[way]: timezone.now()})
    assert "closed" in guest.get(reverse("account_signup")).text
    guest.post(reverse("account_signup"), SIGNUP)
    assert not User.objects.filter(username="carol").exists()


def test_two_browsers_with_one_invitation_make_one_account(operator: Client) -> None:
    """The second one is told what became of it."""
    link = link_of(operator)
    first, second = Client(), Client()
    for guest in (first, second):
        guest.post(link)
    first.post(reverse("account_signup"), SIGNUP)
    answer = second.post(reverse("account_signup"), SIGNUP | {"username": "dave"})
    assert "closed" in answer.text
    assert not User.objects.filter(username="dave").exists()


def test_an_invitation_that_is_used_while_a_form_is_read_makes_no_account(operator: Client) -> None:
    """As where several browsers send theirs at the same moment."""
    guest = Client()
    guest.post(link_of(operator))

    def use_up(instance: User, **_signal: object) -> None:
        if instance.pk is None:
            Invitation.objects.update(used_at=timezone.now())

    post_init.connect(use_up, sender=User)
    try:
        answer = guest.post(reverse("account_signup"), SIGNUP)
    finally:
        post_init.disconnect(use_up, sender=User)
    assert answer.status_code == 403
    assert not User.objects.filter(username="carol").exists()


def test_everybody_joins_where_registration_is_open(db: None, settings: LazySettings) -> None:
    """They are members."""
    settings.ALLOW_REGISTRATION = True
    Client().post(reverse("account_signup"), SIGNUP)
    assert not User.objects.get(username="carol").is_superuser
