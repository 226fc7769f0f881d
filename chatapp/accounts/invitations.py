"""Invitations: a link with which one person can make an account, once, within a week."""

from collections.abc import Callable
from datetime import timedelta

from allauth.core.exceptions import ImmediateHttpResponse
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from chatapp.models import Invitation
from chatapp.models.database import now

LIFETIME = timedelta(days=7)
# The session's key for the token of the invitation that its browser came with.
HELD = "invitation"


def invite(*, by: User, role: str) -> str:
    """Return the token of a new invitation; it can't be shown again."""
    token = Invitation.generate()
    digest, expires_at = Invitation.digest_of(token), now() + LIFETIME
    Invitation.objects.create(invited_by=by, role=role, digest=digest, expires_at=expires_at)
    return token


def usable(token: str) -> Invitation | None:
    """Return the invitation of a token; None if it is unknown, used, revoked or expired."""
    return Invitation.objects.usable().filter(digest=Invitation.digest_of(token)).first()


def held_by(request: HttpRequest) -> Invitation | None:
    """Return the invitation that this browser holds, None if it holds no valid one."""
    return usable(token) if (token := request.session.get(HELD, "")) else None


def say_used(request: HttpRequest) -> HttpResponse:
    """Return the page that says that an invitation is no longer good."""
    return render(request, "sign_in/used.html", {"invited": True}, status=403)


@transaction.atomic
def accept(request: HttpRequest, save: Callable[[], User], *, needed: bool) -> User:
    """Return the account that ``save`` stores, with its invitation's role; that is used up.

    Without an invitation it is a member's, unless one is ``needed``. Raises ImmediateHttpResponse
    with a page if another browser has used the invitation meanwhile.
    """
    held = held_by(request)
    unused = Invitation.objects.filter(pk=held.pk if held else 0, used_at=None)
    if (held or needed) and not unused.update(used_at=now()):
        raise ImmediateHttpResponse(say_used(request))
    user = save()
    if held:
        user.is_superuser = held.role == Invitation.Role.OPERATOR
        user.save(update_fields=["is_superuser"])
        Invitation.objects.filter(pk=held.pk).update(used_by=user)
        request.session.pop(HELD, None)
    return user
