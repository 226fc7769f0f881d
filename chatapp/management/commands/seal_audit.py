"""``manage.py seal_audit``: the heads of all audit chains, signed, in a file to keep elsewhere."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, override

from django.core.management.base import BaseCommand, CommandError

from chatapp.maintenance import audit_seals
from chatapp.maintenance.backups import dated_file


class Command(BaseCommand):
    """Write a seal, and say with which key it can be checked."""

    help = "Signs the heads of all audit chains into a file; keep it where nobody can change it."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, nargs="?", help="default: DATA_DIR/seals/<time>.json"
        )

    @override
    def handle(self, *, file: Path | None, **_options: Any) -> None:
        path = file or dated_file("seals", ".json")
        seal = audit_seals.make_seal()
        try:
            with path.open("x", encoding="utf-8") as written:
                written.write(seal)
        except FileExistsError as error:
            raise CommandError(f"{path} is there already.") from error
        except OSError as error:
            raise CommandError(f"The seal could not be written: {error}.") from error
        self.stdout.write(f"Wrote {path}. Keep a copy where nobody on this server can change it.")
        self.stdout.write(f"Public key: {audit_seals.public_key()}")
