"""The processes that share a database: their signs of life, and the files that all must see.

Each gives signs of life, every two seconds, on a thread and a connection of its own, and looks for
others that give none. By these others know which work was left: turns, drafts, imports and jobs.

On PostgreSQL each also holds a lock for as long as it lives. A server without Redis holds it alone,
since it can't send its hints to others; processes with Redis hold it together.

Each leaves a file in the folders that all have to share, signed with the keys that all have to
have, and looks for the files of the others. A file has the name of the connection that holds the
lock.
"""

import contextlib
import logging
import re
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from threading import Event, Thread

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db import Error, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext_noop

from chatapp.models import Process
from chatapp.models.database import execute
from chatapp.models.databases import in_use, opened
from chatapp.project.environment import BadEnvironment, only_server_in
from chatapp.project.sentences import translate as _
from chatapp.project.telemetry import note_heartbeat

log = logging.getLogger(__name__)

# The number of the lock, of no meaning.
LOCK = 5_013_072_171
# Seconds between two signs of life, and between two looks while somebody gives none.
INTERVAL, HURRY = 2.0, 0.5
# Seconds without a new sign, by the database's clock, after which a process is watched …
SILENT_SECONDS = 4.0
# … and for which it then has to give none, as this process sees it, to be gone …
WATCHED = 2.5
# … which begin anew after a look that failed or came so late: others may have waited as well.
LATE = 3.5
# Seconds after which the file that a killed process left is removed.
LEFT = 86_400
# Where a folder has the files.
FILES = ".processes"
# Milliseconds for which a statement of a process that serves waits for a lock.
LOCK_TIMEOUT = 2_000
# The server of the database finds within half a minute that a machine without power is gone.
_SESSION = {
    "lock_timeout": LOCK_TIMEOUT,
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
}
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
class Member:
    """A process as others know it: its ``kind`` is web or worker."""

    kind: str
    id: str
    machine: str

    @property
    def name(self) -> str:
        """Return its connection's name in the database, which keeps 63 bytes of it."""
        return f"palimpsest {self.kind} {self.id} {self.machine}"


@contextlib.contextmanager
def joined(kind: str) -> "Iterator[Heartbeat]":
    """Join the processes on this database; raise BadEnvironment if that is impossible.

    Only processes with Redis share DATA_DIR, too. Its signs of life begin with ``begin``.
    """
    own = Member(kind, secrets.token_hex(6), socket.gethostname())
    with contextlib.ExitStack() as stack:
        if settings.CLUSTER:
            stack.enter_context(_left_files(own))
        else:
            stack.enter_context(only_server_in("DATA_DIR", Path(settings.DATA_DIR)))
        heartbeat = stack.enter_context(contextlib.closing(Heartbeat(own)))
        if settings.CLUSTER:
            _remove_left({own.id, *(one.id for one in heartbeat.others)})
        for problem in _problems_with(heartbeat.others):
            raise BadEnvironment(problem)
        if connection.vendor == "postgresql":
            from chatapp.project.postgresql.base import DatabaseWrapper  # noqa: PLC0415 - needs psycopg

            # Writes are tried again, and nothing else should wait long for them.
            DatabaseWrapper.lock_timeout = LOCK_TIMEOUT
        yield heartbeat


def _problems_with(living: list[Member]) -> Iterator[str]:
    """Yield a sentence for each folder or key that differs from a living process's."""
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
def _left_files(own: Member) -> Iterator[None]:
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


# Called with each sign of life, in its thread; the argument is True if a process is gone. They
# return the seconds for which this process has not come round to an earlier call …
listeners: list[Callable[[bool], float]] = []
# … and after this many it gives no signs: others then end the work that stands still in it.
STUCK = 60.0

# Returns the ids of the workers of Procrastinate's queues that run in this process.
workers: Callable[[], set[int]] = set


def begin() -> None:
    """Add this process to those that live; all others are gone if only one can serve."""
    Process.objects.sign(Process.Kind.WEB)
    Process.objects.remove_gone(alone=not settings.CLUSTER)


@contextlib.contextmanager
def working() -> Iterator[None]:
    """Register a command as the owner of its work until the end of the block."""
    Process.objects.sign(Process.Kind.COMMAND)
    try:
        yield
    finally:
        Process.objects.end()


class Observer:
    """Gives signs of life of this process, and finds processes that give none.

    A look that fails, or comes late, is no evidence, and a process that can't write can't judge.
    """

    def __init__(self, kind: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._kind, self._clock = kind, clock
        self._looked, self._has_signed = -LATE, False
        # The time since which each sign of life was seen to be old.
        self.silent: dict[tuple[str, datetime], float] = {}

    def look(self) -> list[str]:
        """Sign, look at the others, and return those that are gone since."""
        before, self._looked = self._looked, -LATE
        was_known, found = Process.objects.sign(self._kind, workers(), SILENT_SECONDS)
        if not was_known and self._has_signed:
            log.warning("others took this process for gone, and may have ended what it works on")
        self._has_signed = True
        signs = [(one.name, one.heartbeat_at) for one in found]
        looked = self._clock()
        known = self.silent if looked - before < LATE else {}
        self.silent = {sign: known.get(sign, looked) for sign in signs}
        gone = [sign for sign, since in self.silent.items() if looked - since >= WATCHED]
        self._looked = looked
        return [name for name, sign in gone if Process.objects.remove(name, sign)]


class Heartbeat:
    """The thread and the connection that give signs of life of this process."""

    def __init__(self, own: Member) -> None:
        """Hold the lock from now on; raise BadEnvironment if another process forbids it.

        Raises DatabaseError if the database can't be used.
        """
        self.own = own
        self._over, self._lives = Event(), False
        self._is_away, self._is_stuck, self._held = False, False, None
        self._settings = given = connection.settings_dict
        if connection.vendor == "postgresql":
            options = {**given["OPTIONS"], **_PATIENCE, "application_name": own.name}
            self._settings = {**given, "OPTIONS": options}
        others: Future[list[Member]] = Future()
        self._thread = Thread(target=self._live, args=[others], name="heartbeat", daemon=True)
        self._thread.start()
        self.others = others.result()

    def begin(self) -> None:
        """Give signs of life from now on: the tables are there."""
        self._lives = True

    def close(self) -> None:
        """End the signs of life, and release the lock."""
        self._over.set()
        self._thread.join()

    def _live(self, others: "Future[list[Member]]") -> None:
        with opened(self._settings) as database, in_use(database):
            try:
                others.set_result(self._hold(database))
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                others.set_exception(error)
                return
            observer = Observer(self.own.kind)
            while not self._over.wait(HURRY if observer.silent else INTERVAL):
                self._beat(observer, database)
            if self._lives:
                with contextlib.suppress(Error):
                    Process.objects.end()

    def _beat(self, observer: Observer, database: BaseDatabaseWrapper) -> None:
        try:
            database.ensure_connection()
            if database.connection is not self._held:
                self._hold(database)
            if self._lives:
                # Nobody watches a server that is alone, and its disk may rest.
                signs = settings.CLUSTER and not self._is_stuck
                gone = observer.look() if signs else []
                waits = [listener(bool(gone)) for listener in listeners]
                was_stuck, self._is_stuck = self._is_stuck, max(waits, default=0.0) > STUCK
                if not self._is_stuck:
                    note_heartbeat()
                elif not was_stuck:
                    log.error("the event loop stands still: this process gives no signs of life")
            if self._is_away:
                log.warning("the database can be reached again")
            self._is_away = False
        except BadEnvironment as problem:
            log.error("%s", problem)
        except Exception as error:
            # Any error: without signs of life, others take this process for gone.
            with contextlib.suppress(Exception):
                database.close()
            is_away = isinstance(error, Error)
            if not is_away:
                log.exception("a sign of life could not be given; the next one is tried")
            elif self._lives and not self._is_away:
                log.warning("the database can't be reached, and is tried again: %s", error)
            # A start says it itself.
            self._is_away = is_away and self._lives

    def _hold(self, database: BaseDatabaseWrapper) -> list[Member]:
        """Take the lock in a new connection, and return the others that have it."""
        if database.vendor != "postgresql":
            return []
        for name, value in _SESSION.items():
            execute("SELECT set_config(%s, %s, false)", name, str(value))
        shared = "_shared" if settings.CLUSTER else ""
        ((got,),) = execute(f"SELECT pg_try_advisory_lock{shared}(%s)", LOCK)
        there = _read(execute(_HOLDERS, LOCK))
        if not got:
            database.close()
            raise BadEnvironment(_refusal(there))
        self._held = database.connection
        return there


def _refusal(there: list[Member]) -> str:
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


def _read(rows: list[tuple[str | None]]) -> list[Member]:
    # The server gives no names of connections of another user.
    named = [_NAME.fullmatch(name or "") for (name,) in rows]
    return [Member(*one.groups()) for one in named if one]


def _remove_left(living: set[str]) -> None:
    for name in ("DATA_DIR", "WORKSPACES_ROOT"):
        for file in (Path(getattr(settings, name)) / FILES).iterdir():
            with contextlib.suppress(OSError):
                if file.name not in living and file.stat().st_mtime < time.time() - LEFT:
                    file.unlink()
