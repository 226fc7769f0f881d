"""``manage.py rotate_keys``: encrypt all stored secrets with the newest key."""

from typing import Any, override

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext_noop

from chatapp.operations import key_rotation
from chatapp.project.sentences import translate as _


class Command(BaseCommand):
    """Encrypt anew the values of older keys, and print their number."""

    help = (
        "Encrypts with SECRET_KEY what keys of SECRET_KEY_FALLBACKS encrypted. The server may run, "
        "if it was started with both."
    )
    requires_system_checks = ()

    @override
    def handle(self, *_args: Any, **_options: Any) -> None:
        done = key_rotation.rotate()
        said = _(
            "{count} secret was encrypted anew.",
            "{count} secrets were encrypted anew.",
            count=done.renewed,
        )
        self.stdout.write(said)
        if done.unreadable:
            places = ", ".join([_("{what} of {kind} {row}", **one) for one in done.unreadable])
            said = gettext_noop(
                "No key opens these: {places}. Add the key they were encrypted with to "
                "SECRET_KEY_FALLBACKS, or enter them again."
            )
            raise CommandError(_(said, places=places))
        self.stdout.write(_("SECRET_KEY opens all of them: SECRET_KEY_FALLBACKS can be unset."))
