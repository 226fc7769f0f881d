"""`manage.py check_requests`: whether every request can be shown as it was sent."""

from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from chatapp.models import Manifest
from chatapp.storage.request_reader import find_changed

MOST_NAMED = 10


class Command(BaseCommand):
    """Put every request together again, and compare it with what was sent."""

    help = "Puts every request to a model together again and compares it with what was sent."

    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Say that all are the same; a CommandError names those that are not."""
        try:
            changed = find_changed()
            named = [*islice(changed, MOST_NAMED)]
            others = sum(1 for _ in changed)
            total = Manifest.objects.count()
        except DatabaseError as error:
            raise CommandError(f"The database can't be read to its end: {error}.") from error
        if not named:
            self.stdout.write(f"All {total:,} requests can be shown as they were sent.")
            return
        calls = ", ".join(str(manifest.pk) for manifest in named)
        raise CommandError(
            f"{len(named) + others:,} of {total:,} requests can't be shown as they were sent: "
            f"calls {calls}{f' and {others:,} more' if others else ''}."
        )
