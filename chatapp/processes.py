"""The processes that share a database on PostgreSQL: who lives, and whether all see the same files.

Each holds a lock in the database for as long as it lives, so the server knows who does: no clock
and no sign of life is needed for that. A server without Redis holds it alone, for it could not tell
others what happens; processes with Redis hold it together.

Each leaves a file in the folders that all have to share, signed with the keys that all have to
have, and looks for the files of the others. A name says which: the one of the connection that holds
the lock.
"""

import contextlib
import logging
import re
import secrets
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db import connection
from django.utils.translation import gettext_noop

from chatapp.environment import BadEnvironment, only_server_in
from chatapp.sentences import translate as _

log = logging.getLogger(__name__)

# The number of the lock, of no meaning.
LOCK = 5_013_072_171
# Seconds between looks whether the lock is still held, which a server that restarts lets go of.
PAUSE = 5
# Seconds after which the file that a killed process left is removed.
LEFT = 86_400
# Where a folder has the files.
FILES = ".processes"
# The server of the database finds within half a minute that a machine without power is gone.
_KEEPALIVES = {"tcp_keepalives_idle": 10, "tcp_keepalives_interval": 5, "tcp_keepalives_count": 3}
# Seconds, and milliseconds, after which a connection to it is given up.
_PATIENCE = {"connect_timeout": 5, "tcp_user_timeout": 10_000}

_NAME = re.compile(r"palimpsest (\w+) (\w+) (.*)")
_HOLDERS = """
    SELECT holder.application_name FROM pg_locks JOIN pg_stat_activity AS holder USING (pid)
    WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (CAST(classid AS bigint) << 32) + CAST(objid AS bigint) = %s ORDER BY backend_start
"""


@dataclass(frozen=True, slots=True)
class Process:
    """A process as others know it: its ``kind`` is web or worker."""

    kind: str
    id: str
    machine: str

    @property
    def name(self) -> str:
        """What its connection is called in the database, which keeps 63 bytes of it."""
        return f"palimpsest {self.kind} {self.id} {self.machine}"


@contextlib.contextmanager
def joined(kind: str) -> Iterator[None]:
    """Be one of the processes on this database; raise BadEnvironment where that can't be.

    Only processes with Redis share DATA_DIR, too.
    """
    own = Process(kind, secrets.token_hex(6), socket.gethostname())
    with contextlib.ExitStack() as stack:
        if settings.CLUSTER:
            stack.enter_context(_left_files(own))
        else:
            stack.enter_context(only_server_in("DATA_DIR", Path(settings.DATA_DIR)))
        if connection.vendor == "postgresql":
            membership = stack.enter_context(contextlib.closing(_Membership(own)))
            for problem in _problems_with(membership.others()):
                raise BadEnvironment(problem)
        yield


def _problems_with(living: list[Process]) -> Iterator[str]:
    """Yield which folder or key is not that of a process that lives, and what helps."""
    if not settings.CLUSTER:
        return
    for process in living:
        for name in ("DATA_DIR", "WORKSPACES_ROOT"):
            folder = Path(getattr(settings, name))
            try:
                signed = (folder / FILES / process.id).read_text("ascii").splitlines()
            except OSError:
                said = gettext_noop(
                    "{name} {folder} lacks the file that the {kind} process on {machine} has left "
                    "there. Mount the same volume for all processes."
                )
                yield _(said, name=name, folder=folder, **asdict(process))
                continue
            for key, signer, text in zip(_KEYS, _signers(), signed, strict=False):
                try:
                    signer.unsign(text)
                except BadSignature:
                    said = gettext_noop(
                        "The {kind} process on {machine} has another {key}. Give all processes "
                        "the same."
                    )
                    yield _(said, key=key, **asdict(process))


_KEYS = ("SECRET_KEY", "SEAL_KEY")


def _signers() -> list[Signer]:
    # A key can't be empty; without one none is asked for, and the check of settings says so.
    return [Signer(key=getattr(settings, key) or "none", salt=__name__) for key in _KEYS]


@contextlib.contextmanager
def _left_files(own: Process) -> Iterator[None]:
    """Leave a file in each folder for as long as this process lives."""
    text = "\n".join(signer.sign(own.id) for signer in _signers())
    files = []
    for name in ("DATA_DIR", "WORKSPACES_ROOT"):
        folder = Path(getattr(settings, name)) / FILES
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.append(folder / own.id)
            files[-1].write_text(text, "ascii")
        except OSError as error:
            raise BadEnvironment(f"{name} {folder.parent}: {error.strerror}.") from error
    try:
        yield
    finally:
        for file in files:
            with contextlib.suppress(OSError):
                file.unlink()


class _Membership:
    """A connection that holds the lock, and takes it again after the server was restarted."""

    def __init__(self, own: Process) -> None:
        from psycopg import OperationalError  # noqa: PLC0415 - only where it is used

        self.own = own
        self._over = Event()
        try:
            self._connection = self._hold()
        except OperationalError as error:
            raise BadEnvironment(_("The database can't be used: {error}.", error=error)) from error
        self._thread = Thread(target=self._stay, name="membership", daemon=True)
        self._thread.start()

    def others(self) -> list[Process]:
        """Return the other processes; what those left that do not live any more is removed."""
        living = _read(self._connection.execute(_HOLDERS, [LOCK]).fetchall())
        if settings.CLUSTER:
            _remove_left({self.own.id, *(one.id for one in living)})
        return living

    def close(self) -> None:
        """Let others have the lock."""
        self._over.set()
        self._thread.join()
        self._connection.close()

    def _hold(self) -> Any:
        from psycopg import connect  # noqa: PLC0415 - only where it is used

        given = {**connection.get_connection_params(), **_PATIENCE}
        held = connect(**given | {"application_name": self.own.name}, autocommit=True)
        for name, value in _KEEPALIVES.items():
            held.execute("SELECT set_config(%s, %s, false)", [name, str(value)])
        shared = "_shared" if settings.CLUSTER else ""
        ((got,),) = held.execute(f"SELECT pg_try_advisory_lock{shared}(%s)", [LOCK]).fetchall()
        if not got:
            there = _read(held.execute(_HOLDERS, [LOCK]).fetchall())
            held.close()
            raise BadEnvironment(_refusal(there))
        return held

    def _stay(self) -> None:
        from psycopg import Error  # noqa: PLC0415 - only where it is used

        is_away = False
        while not self._over.wait(PAUSE):
            try:
                if self._connection.closed:
                    self._connection = self._hold()
                self._connection.execute("SELECT 1")
                if is_away:
                    log.warning("PostgreSQL can be reached again")
                is_away = False
            except BadEnvironment as problem:
                log.error("%s", problem)
            except Error as error:
                self._connection.close()
                if not is_away:
                    log.warning("PostgreSQL can't be reached, and is tried again: %s", error)
                is_away = True


def _refusal(there: list[Process]) -> str:
    without = gettext_noop(
        "A server works on this database without REDIS_URL. Stop it, or set that there too."
    )
    already = gettext_noop(
        "A server works on this database already. Stop it, or set REDIS_URL for both, by which "
        "several tell each other what happens."
    )
    if there:
        without = gettext_noop(
            "A {kind} process on {machine} works on this database without REDIS_URL. Stop it, or "
            "set that there too."
        )
        already = gettext_noop(
            "A {kind} process on {machine} works on this database already. Stop it, or set "
            "REDIS_URL for both, by which several tell each other what happens."
        )
    process = asdict(there[0]) if there else {}
    return _(without if settings.CLUSTER else already, **process)


def _read(rows: list[tuple[str | None]]) -> list[Process]:
    # Of another user's connections the server tells no name.
    named = [_NAME.fullmatch(name or "") for (name,) in rows]
    return [Process(*one.groups()) for one in named if one]


def _remove_left(living: set[str]) -> None:
    for name in ("DATA_DIR", "WORKSPACES_ROOT"):
        for file in (Path(getattr(settings, name)) / FILES).iterdir():
            with contextlib.suppress(OSError):
                if file.name not in living and file.stat().st_mtime < time.time() - LEFT:
                    file.unlink()
