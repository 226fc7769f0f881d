"""`manage.py check_requests`: check that every request can be shown as it was sent."""

from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils.translation import gettext_noop

from chatapp.models import Manifest
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import integrity

MOST_CHANGED_NAMED = 10


class Command(BaseCommand):
    """Put every request together again, and compare it with its digest."""

    help = "Puts every request to a model together again and compares it with what was sent."

    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print that all are the same; raise CommandError with those that are not."""
        try:
            changed = integrity.find_changed()
            named = [*islice(changed, MOST_CHANGED_NAMED)]
            others = sum(1 for _ in changed)
            total = Manifest.objects.count()
        except DatabaseError as error:
            said = _("The database can't be read to its end: {error}.", error=error)
            raise CommandError(said) from error
        if not named:
            self.stdout.write(integrity.all_shown(total))
            return
        calls = ", ".join(str(manifest.pk) for manifest in named)
        said = gettext_noop(
            "{changed:,} of {total:,} requests can't be shown as they were sent: calls {calls}."
        )
        if others:
            said = gettext_noop(
                "{changed:,} of {total:,} requests can't be shown as they were sent: "
                "calls {calls} and {others:,} more."
            )
        count = len(named) + others
        raise CommandError(_(said, changed=count, total=total, calls=calls, others=others))
