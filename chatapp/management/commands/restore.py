"""``manage.py restore``: a server as a backup knew it."""

import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, override

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from chatapp.environment import only_server_in
from chatapp.errors import BadArchive
from chatapp.maintenance import backups


class Command(BaseCommand):
    """Check an archive whole, and only then put it in place."""

    help = "Puts a backup in place of what DATA_DIR holds; the server must be stopped."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="what `manage.py backup` wrote")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="move what is there aside, into DATA_DIR/before-restore-<time>",
        )

    @override
    def handle(self, *, file: Path, replace: bool, **_options: Any) -> None:
        with only_server_in("DATA_DIR", settings.DATA_DIR):
            target = backups.stored(with_key=True)
            if target.database.exists() and not replace:
                raise CommandError(
                    f"{target.database} is there already. Say --replace to move it aside."
                )
            folder = Path(settings.DATA_DIR)
            aside = folder / f"before-restore-{timezone.now():%Y-%m-%d-%H%M%S}"
            try:
                with tempfile.TemporaryDirectory(dir=folder, prefix=".restore-") as unpacked:
                    backup = backups.unpack(file, Path(unpacked))
                    backups.check_database(Path(unpacked) / backups.DATABASE)
                    backups.put_in_place(Path(unpacked), target, aside)
            except (BadArchive, OSError) as error:
                raise CommandError(f"Nothing was changed: {error}") from error
        for sentence in backup.left_out:
            self.stderr.write(f"Left out: {sentence}")
        self.stdout.write(f"Restored {len(backup.files):,} files. What was there is in {aside}.")
