"""`manage.py migrate`: Django's command, one run at a time, while older processes go on."""

import fcntl
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, override

from django.conf import settings
from django.core.management.commands import migrate
from django.db import DatabaseError, OperationalError, connection, transaction

from chatapp.models.database import LOCK_NOT_AVAILABLE, execute, is_shared
from chatapp.project.sentences import translate as _

# A lock's number, of no meaning; milliseconds of a wait for a table; and seconds between two tries.
LOCK, PATIENCE, PAUSE = 5_013_072_172, 2_000, 1


class Command(migrate.Command):
    """Django's command, which retries while a table is in use instead of blocking its users."""

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate, after any other run has ended."""
        if not is_shared():
            with (Path(settings.DATA_DIR) / "migrate.lock").open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                # Django notes some migrations after their end. Cut off between, as by a full disk,
                # it would find their tables in its way for good.
                with connection.constraint_checks_disabled(), transaction.atomic():
                    super().handle(*args, **options)
            return
        try:
            while not self._is_done(*args, **options):
                self.stderr.write(_("A table is in use. Trying again …"))
                # Django leaves a transaction open if its last statements fail.
                connection.close()
                connection.connect()
                time.sleep(PAUSE)
        finally:
            # A pool keeps the session, and with it the lock.
            with suppress(DatabaseError):
                execute("SELECT pg_advisory_unlock(%s)", LOCK)
            connection.close()

    def _is_done(self, *args: Any, **options: Any) -> bool:
        """Migrate a PostgreSQL; return False if a table was in use."""
        # A statement that waited for it would hold up an index that is made concurrently.
        while execute("SELECT pg_try_advisory_lock(%s)", LOCK) != [(True,)]:
            time.sleep(PAUSE)
        # The lock goes with its connection.
        execute(f"SET lock_timeout = {PATIENCE}; SET idle_session_timeout = 0")
        try:
            super().handle(*args, **options)
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != LOCK_NOT_AVAILABLE:
                raise
            return False
        return True
