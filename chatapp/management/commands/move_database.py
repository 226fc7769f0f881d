"""``manage.py move_database``: from a file to PostgreSQL, or back, with all rows."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, override

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections

from chatapp.models.databases import draft_at, name_of, opened
from chatapp.models.errors import NotCopied
from chatapp.project.environment import database_at, only_server_in
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import backups, moves, row_copy

FILE = "sqlite"


class Command(BaseCommand):
    """Copy the database in use into an empty one, compare both, and print the way to use it."""

    help = (
        "Copies the database in use, which DATABASE_URL names (or DATA_DIR holds), into an empty "
        "one, and compares both. The one in use stays as it is. Stop all servers and workers first."
    )
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        what = _(
            "postgresql://user:password@host/database (the password may be in PGPASSWORD or "
            "~/.pgpass instead), or {file}: a file in DATA_DIR",
            file=FILE,
        )
        parser.add_argument("--to", required=True, metavar="DATABASE", help=what)

    @override
    def handle(self, *, to: str, **_options: Any) -> None:
        with only_server_in("DATA_DIR", settings.DATA_DIR):
            try:
                if to == FILE:
                    self._move_to_file(Path(settings.DATA_DIR) / backups.DATABASE)
                else:
                    self._move(database_at("--to", to))
                    said = _("Start with DATABASE_URL set to the address that --to gave.")
                    self.stdout.write(said)
            except (NotCopied, DatabaseError, OSError) as error:
                reason = str(error).splitlines()[0]
                raise CommandError(_("Nothing was moved: {reason}", reason=reason)) from error

    def _move_to_file(self, path: Path) -> None:
        """Copy into a draft first, so that a file of the final name is complete."""
        for one in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
            if one.exists():
                raise NotCopied(_("{path} is there already. Move it elsewhere.", path=one))
        draft = path.with_name(f"{path.name}.draft")
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
        try:
            self._move(draft_at(draft))
            with draft.open("rb") as written:
                os.fsync(written.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        self.stdout.write(_("Start without DATABASE_URL and REDIS_URL to use {path}.", path=path))

    def _move(self, options: Any) -> None:
        source = connections[DEFAULT_DB_ALIAS]
        row_copy.check_migrated()
        moves.check_unused(source)
        with opened(options) as target:
            moves.check_unused(target)
            moves.check_fit(target)
            moves.move(source, target, self._say)
        self.stdout.write(_("{name} is as it was, and is not used any more.", name=name_of(source)))

    def _say(self, line: str) -> None:
        """Print a line at once, even into a pipe."""
        self.stdout.write(line)
        self.stdout.flush()
