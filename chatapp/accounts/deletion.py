"""Deletion of an account: its user asks for it, and may take that back for a week."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction

from chatapp.accounts import users
from chatapp.models.database import now
from chatapp.models.deletions import Deletion

GRACE = timedelta(days=7)


@transaction.atomic
def ask_to_delete(user: User, *, session_key: str | None) -> None:
    """Have an account deleted after ``GRACE``; all its sessions but this one end.

    Until then its tokens and links open nothing, and no model is called for it. Refused where
    nobody would be operator any more.
    """
    users.keep_an_operator(user)
    Deletion.objects.get_or_create(user=user, defaults={"due_at": now() + GRACE})
    users.end_sessions(user, but=session_key)


def keep(user: User) -> bool:
    """Take it back; False where there is nothing that can be."""
    deleted, _rows = Deletion.objects.filter(user=user, due_at__gt=now()).delete()
    return bool(deleted)
