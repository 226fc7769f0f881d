"""``manage.py backup``: everything that must survive, in one file, while the server runs."""

import sqlite3
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, override

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from chatapp.models.errors import BadArchive, NotCopied
from chatapp.project.installation import PROGRAM
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import backups, erasure


class Command(BaseCommand):
    """Write an archive, and print its contents."""

    help = "Writes database and workspaces to one archive; the server may run meanwhile."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        what = _("default: DATA_DIR/backups/<time>.tar.gz")
        parser.add_argument("file", type=Path, nargs="?", help=what)
        what = _("put the keys in: who has the archive can read all stored API keys, and seal")
        parser.add_argument("--with-key", action="store_true", help=what)

    @override
    def handle(self, *, file: Path | None, with_key: bool, **_options: Any) -> None:
        source = backups.stored(with_key=with_key)
        if source.key and not backups.holds_key(source.key):
            said = _(
                "The secret key is not a file of DATA_DIR: SECRET_KEY sets it. Keep a copy of "
                "that, and leave --with-key out."
            )
            raise CommandError(said)
        path = file or backups.dated_file("backups", ".tar.gz")
        if path.exists():
            raise CommandError(_("{path} is there already.", path=path))
        try:
            backup = backups.write_backup(source, path)
            erasure.write_list(path.parent)
        except (BadArchive, OSError, sqlite3.Error, DatabaseError, NotCopied) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            said = _("The backup could not be written: {reason}.", reason=reason)
            raise CommandError(said) from error
        if backup.damage:
            damaged = _(
                "The database file is damaged: {damage}. All its rows are in the archive: stop the "
                "server, and `{program} restore FILE --replace` makes a sound one of them.",
                damage=backup.damage,
                program=PROGRAM,
            )
            self.stderr.write(damaged)
        for sentence in backup.left_out:
            self.stderr.write(_("Left out: {what}", what=sentence))
        files = len(backup.files)
        wrote = _(
            "Wrote {path}: {count} file.", "Wrote {path}: {count:,} files.", path=path, count=files
        )
        self.stdout.write(wrote)
        if not source.key:
            lacks = _(
                "The secret key is not in it. Without that, stored API keys have to be entered "
                "again: keep a copy of it elsewhere."
            )
            self.stdout.write(lacks)
