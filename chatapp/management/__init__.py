"""Commands of the command line, in addition to Django's own."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from chatapp.models import accounts
from chatapp.project.sentences import translate as _


def find_user(name: str | None) -> Any:
    """Return the user of this name, the server's owner without one; raise CommandError."""
    if name is None:
        return accounts.prepare_owner()
    user = get_user_model().objects.filter(username=name).first()
    if user is None:
        raise CommandError(_("There is no user {name!r}.", name=name))
    return user
