"""`manage.py check_requests`: whether every request can be shown as it was sent."""

from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from chatapp.models import Manifest
from chatapp.number_formats import number
from chatapp.storage.request_reader import find_changed

MOST_NAMED = 10


class Command(BaseCommand):
    """Put every request together again, and compare it with what was sent."""

    help = gettext_noop(
        "Puts every request to a model together again and compares it with what was sent."
    )

    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Say that all are the same; a CommandError names those that are not."""
        try:
            changed = find_changed()
            named = [*islice(changed, MOST_NAMED)]
            others = sum(1 for _ in changed)
            total = Manifest.objects.count()
        except DatabaseError as error:
            said = _("The database can't be read to its end: %(error)s.") % {"error": error}
            raise CommandError(said) from error
        if not named:
            said = ngettext(
                "All %(total)s requests can be shown as they were sent.",
                "All %(total)s requests can be shown as they were sent.",
                total,
            )
            self.stdout.write(said % {"total": number(total)})
            return
        calls = ", ".join(str(manifest.pk) for manifest in named)
        said = _(
            "%(changed)s of %(total)s requests can't be shown as they were sent: calls %(calls)s."
        )
        if others:
            said = _(
                "%(changed)s of %(total)s requests can't be shown as they were sent: "
                "calls %(calls)s and %(others)s more."
            )
        counts = {"changed": len(named) + others, "total": total, "others": others}
        words = {name: number(count) for name, count in counts.items()}
        raise CommandError(said % {**words, "calls": calls})
