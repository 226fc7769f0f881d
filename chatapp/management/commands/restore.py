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
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from chatapp.environment import only_server_in
from chatapp.errors import BadArchive, NotCopied
from chatapp.installation import PROGRAM
from chatapp.maintenance import backups, erasure, moves, row_copy
from chatapp.models.databases import in_use, name_of, opened
from chatapp.number_formats import number


class Command(BaseCommand):
    """Check an archive whole, and only then put it in place."""

    help = gettext_noop(
        "Puts a backup in place of what DATA_DIR holds; the server must be stopped."
    )
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        wrote = _("what `%(program)s backup` wrote") % {"program": PROGRAM}
        parser.add_argument("file", type=Path, help=wrote)
        parser.add_argument(
            "--replace",
            action="store_true",
            help=_(
                "move what is there aside, into DATA_DIR/before-restore-<time>; what PostgreSQL "
                "holds becomes a file there"
            ),
        )

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
                said = _("Nothing was changed: %(reason)s") % {"reason": reason}
                raise CommandError(said) from error
        for sentence in backup.left_out:
            self.stderr.write(_("Left out: %(what)s") % {"what": sentence})
        files = len(backup.files)
        restored = ngettext(
            "Restored %(files)s files. What was there is in %(folder)s.",
            "Restored %(files)s files. What was there is in %(folder)s.",
            files,
        )
        self.stdout.write(restored % {"files": number(files), "folder": aside})
        if erased:
            again = ngettext(
                "%(accounts)s accounts in it were deleted since, and were so again.",
                "%(accounts)s accounts in it were deleted since, and were so again.",
                erased,
            )
            self.stdout.write(again % {"accounts": number(erased)})

    def _erase_again(self, folder: Path, *lists: Path) -> int:
        """Erase from what was unpacked whose account was deleted; return how many had one."""
        own = backups.own_folder("backups")
        made = {**settings.SQLITE, "NAME": folder / backups.DATABASE}
        with opened(made) as database, in_use(database):
            row_copy.migrate()
            erased = erasure.erase_again(folder / backups.WORKSPACES, own, *lists)
            erasure.write_list(own, *lists)
        return erased

    def _find_database(self, target: backups.Source) -> str:
        """Return a sentence about what would be replaced, "" where there is nothing."""
        if target.database:
            said = _("%(path)s is there already. Say --replace to move it aside.")
            return said % {"path": target.database} if target.database.exists() else ""
        moves.check_unused(connections[DEFAULT_DB_ALIAS])
        row_copy.migrate()
        said = _("What %(database)s holds is there already. Say --replace to move it aside.")
        found = row_copy.first_found()
        return said % {"database": name_of(connections[DEFAULT_DB_ALIAS])} if found else ""

    def _put_rows_in_place(
        self, folder: Path, target: backups.Source, aside: Path, *, replace: bool
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
