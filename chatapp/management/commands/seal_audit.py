"""``manage.py seal_audit``: the heads of all audit chains, signed, in a file to keep elsewhere."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, override

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chatapp.models.errors import BadSeal
from chatapp.operations.background_jobs import enqueue
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import audit_seals
from chatapp.records.maintenance.backups import dated_file


class Command(BaseCommand):
    """Write a seal, and say with which key it can be checked."""

    help = "Signs the heads of all audit chains into a file; keep it where nobody can change it."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        what = _("default: DATA_DIR/seals/<time>.json")
        parser.add_argument("file", type=Path, nargs="?", help=what)
        what = _("have a worker write it, where that has its own")
        parser.add_argument("--by-worker", action="store_true", help=what)

    @override
    def handle(self, *, file: Path | None, by_worker: bool, **_options: Any) -> None:
        if by_worker:
            self._enqueue()
            return
        path = file or dated_file("seals", ".json")
        try:
            audit_seals.write_seal(path)
        except FileExistsError as error:
            raise CommandError(_("{path} is there already.", path=path)) from error
        except (BadSeal, OSError) as error:
            said = _("The seal could not be written: {reason}.", reason=str(error).rstrip("."))
            raise CommandError(said) from error
        said = _("Wrote {path}. Keep a copy where nobody on this server can change it.", path=path)
        self.stdout.write(said)
        self.stdout.write(_("Public key: {key}", key=audit_seals.public_key()))

    def _enqueue(self) -> None:
        if not settings.CLUSTER:
            raise CommandError(_("There are no workers without DATABASE_URL and REDIS_URL."))
        # A job that waits seals everything until it runs.
        enqueue("seal_audit", key="all")
        self.stdout.write(_("A worker writes a seal into DATA_DIR/seals as soon as one is free."))
