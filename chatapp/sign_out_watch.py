"""Sessions: whose a page was opened with, and its end, with which the page ends at once."""

from typing import Any

from django.conf import settings
from django.contrib.auth import (
    BACKEND_SESSION_KEY,
    HASH_SESSION_KEY,
    SESSION_KEY,
    load_backend,
)
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils.crypto import constant_time_compare

from chatapp.turns import actions

# What a session depends on; signing in changes other columns.
_DECIDES = frozenset({"is_active", "password"})


def user_of(session: SessionBase) -> User | AnonymousUser:
    """Return who is signed in, as Django does, but without a write where nobody is any more."""
    backend = session.get(BACKEND_SESSION_KEY)
    if backend not in settings.AUTHENTICATION_BACKENDS:
        return AnonymousUser()
    user = load_backend(backend).get_user(session[SESSION_KEY])
    known = session.get(HASH_SESSION_KEY, "")
    if user and constant_time_compare(known, user.get_session_auth_hash()):
        return user
    return AnonymousUser()


def goes_on(session: SessionBase | None) -> bool:
    """Whether a session is stored still; without one, whoever is there has proved it otherwise."""
    return session is None or session.exists(session.session_key or "")


def may_stay(then: User, now: User) -> bool:
    """Whether a user may see what they might see: a new password ends the sessions before it."""
    return now.is_active and now.get_session_auth_hash() == then.get_session_auth_hash()


@receiver(post_delete, sender=Session)
def look_after_session(instance: Session, **_signal: Any) -> None:
    """Look at the pages of a user who signed out, or whose session was removed."""
    if user_pk := instance.get_decoded().get(SESSION_KEY):
        _look(int(user_pk))


@receiver(post_save, sender=User)
def look_after_account(
    instance: User, created: bool, update_fields: frozenset[str] | None, **_signal: Any
) -> None:
    """Look at the pages of a user whose account was closed, or who has a new password."""
    if not created and (update_fields is None or not _DECIDES.isdisjoint(update_fields)):
        _look(instance.pk)


def _look(user_pk: int) -> None:
    # Before the commit, the pages would find all as it was.
    transaction.on_commit(lambda: actions.look_again(user_pk))
