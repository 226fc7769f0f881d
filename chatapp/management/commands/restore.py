"""``manage.py restore``: a server as a backup knew it."""

import shutil
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, override

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from django.utils import timezone

from chatapp.models.databases import in_use, name_of, opened
from chatapp.models.errors import BadArchive, NotCopied
from chatapp.project.environment import only_server_in
from chatapp.project.installation import PROGRAM
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import backups, erasure, moves, row_copy


class Command(BaseCommand):
    """Check an archive whole, and only then put it in place."""

    help = "Puts a backup in place of what DATA_DIR holds; the server must be stopped."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        what = _("what `{program} backup` wrote", program=PROGRAM)
        parser.add_argument("file", type=Path, help=what)
        what = _(
            "move what is there aside, into DATA_DIR/before-restore-<time>; what PostgreSQL "
            "holds becomes a file there"
        )
        parser.add_argument("--replace", action="store_true", help=what)

    @override
    def handle(self, *, file: Path, replace: bool, **_options: Any) -> None:
        with only_server_in("DATA_DIR", settings.DATA_DIR):
            target = backups.stored(with_key=True)
            folder = Path(settings.DATA_DIR)
            aside = folder / f"before-restore-{timezone.now():%Y-%m-%d-%H%M%S}"
            try:
                there = self._find_database(target)
                if there and not replace:
                    raise CommandError(there)
                with tempfile.TemporaryDirectory(dir=folder, prefix=".restore-") as unpacked:
                    backup = backups.unpack(file, Path(unpacked))
                    backups.check_database(Path(unpacked) / backups.DATABASE)
                    erased = self._erase_again(Path(unpacked), file.parent)
                    if target.database:
                        backups.put_in_place(Path(unpacked), target, aside)
                    else:
                        self._put_rows_in_place(Path(unpacked), target, aside, replace=bool(there))
            except (BadArchive, NotCopied, DatabaseError, OSError) as error:
                reason = str(error).splitlines()[0]
                raise CommandError(_("Nothing was changed: {reason}", reason=reason)) from error
        for sentence in backup.left_out:
            self.stderr.write(_("Left out: {what}", what=sentence))
        restored = _(
            "Restored {count:,} file. What was there is in {folder}.",
            "Restored {count:,} files. What was there is in {folder}.",
            count=len(backup.files),
            folder=aside,
        )
        self.stdout.write(restored)
        if erased:
            again = _(
                "{count:,} account in it was deleted since, and was so again.",
                "{count:,} accounts in it were deleted since, and were so again.",
                count=erased,
            )
            self.stdout.write(again)

    def _erase_again(self, folder: Path, *lists: Path) -> int:
        """Erase unpacked data of accounts deleted since; return the number of accounts."""
        own = backups.own_folder("backups")
        made = {**settings.SQLITE, "NAME": folder / backups.DATABASE}
        with opened(made) as database, in_use(database):
            row_copy.migrate()
            erased = erasure.erase_again(folder / backups.WORKSPACES, own, *lists)
            erasure.write_list(own, *lists)
        return erased

    def _find_database(self, target: backups.BackupPaths) -> str:
        """Return a sentence about the database that would be replaced, "" if there is none."""
        if path := target.database:
            said = _("{path} is there already. Say --replace to move it aside.", path=path)
            return said if path.exists() else ""
        moves.check_unused(connections[DEFAULT_DB_ALIAS])
        row_copy.migrate()
        name = name_of(connections[DEFAULT_DB_ALIAS])
        said = _("What {name} holds is there already. Say --replace to move it aside.", name=name)
        return said if row_copy.first_found() else ""

    def _put_rows_in_place(
        self, folder: Path, target: backups.BackupPaths, aside: Path, *, replace: bool
    ) -> None:
        """Fill a database that is no file, in one transaction; its rows become a file aside."""
        before = folder / "before.sqlite3"
        if replace:
            row_copy.write_file(before)
        source = {**settings.SQLITE, "NAME": folder / backups.DATABASE}
        with opened(source) as unpacked, transaction.atomic():
            database = connections[DEFAULT_DB_ALIAS]
            moves.move(unpacked, database, self.stdout.write, replace=replace)
            backups.put_in_place(folder, target, aside)
            if replace:
                shutil.move(before, aside / backups.DATABASE)
