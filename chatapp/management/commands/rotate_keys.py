"""``manage.py rotate_keys``: encrypt all that is stored encrypted with the newest key."""

from typing import Any, override

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from chatapp.maintenance import key_rotation


class Command(BaseCommand):
    """Encrypt anew what an older key encrypted, and say how much."""

    help = gettext_noop(
        "Encrypts with SECRET_KEY what keys of SECRET_KEY_FALLBACKS encrypted. The server may run, "
        "if it was started with both."
    )
    requires_system_checks = ()

    @override
    def handle(self, *_args: Any, **_options: Any) -> None:
        done = key_rotation.rotate()
        sentence = ngettext(
            "%d secret was encrypted anew.", "%d secrets were encrypted anew.", done.renewed
        )
        self.stdout.write(sentence % done.renewed)
        if done.unreadable:
            said = _(
                "No key opens these: %(places)s. Add the key they were encrypted with to "
                "SECRET_KEY_FALLBACKS, or enter them again."
            )
            one = _("%(what)s of %(kind)s %(row)s")
            places = ", ".join([one % place._asdict() for place in done.unreadable])
            raise CommandError(said % {"places": places})
        self.stdout.write(_("SECRET_KEY opens all of them: SECRET_KEY_FALLBACKS can be unset."))
