"""PostgreSQL and Redis of our own: in their own folders, on loopback ports, ended by their ids.

Nothing of the machine's other servers is used, changed or stopped. Both end with whoever started
them, however that ends.
"""

import contextlib
import getpass
import hashlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import redis

# The user whom Debian has for it: PostgreSQL refuses to run as root.
OTHER_USER = "postgres"
OLDEST = 15
PATIENCE = 90  # seconds; a busy machine takes its time
LAST_LINES = 12


class PartFailed(Exception):
    """A part did not start or did not end; its text says which, and what it said last."""


def free_port() -> int:
    """Return a loopback port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def last_lines(log: Path) -> str:
    """Return the end of a log, indented."""
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    return "\n".join(f"    {line}" for line in lines[-LAST_LINES:])


def tied(signal_: str, *command: str, user: str = "") -> list[str]:
    """Return a command that gets a signal when its starter dies, perhaps as another user."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return [*command]
    other = [f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
    return [setpriv, f"--pdeathsig={signal_}", *other, "--", *command]


class Service:
    """A server in a folder of its own, on a port that stays the same through its lives."""

    name = ""
    # How it is asked to end, at once and in order.
    ending = signal.SIGTERM

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """The file of what it says."""
        return self.folder.with_suffix(".log")

    def start(self) -> None:
        """Start it, and return once it answers."""
        with self.log.open("ab") as log:
            self.process = self._launch(log)
        until = time.monotonic() + PATIENCE
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise PartFailed(f"{self.name} did not start:\n{last_lines(self.log)}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it in order, if it runs."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(self.ending)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
                raise PartFailed(f"{self.name} did not end:\n{last_lines(self.log)}") from None

    def kill(self) -> None:
        """End it as a power cut does."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def restart(self) -> None:
        """End it in order and start it again."""
        self.stop()
        self.start()

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Go on without it for a while."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def _launch(self, log: Any) -> subprocess.Popen[bytes]:
        raise NotImplementedError

    def _answers(self) -> bool:
        raise NotImplementedError


class Postgres(Service):
    """A PostgreSQL whose data outlive it; ``durable`` where they should outlive the machine."""

    name = "PostgreSQL"
    # "Fast": open transactions are rolled back, nobody is waited for.
    ending = signal.SIGINT

    def __init__(self, folder: Path, *, durable: bool) -> None:
        super().__init__(folder)
        self.durable = durable
        self.user = OTHER_USER if os.geteuid() == 0 else ""
        self.data = self._place(folder)
        self.password = folder.with_suffix(".password")
        self._connection: psycopg.Connection | None = None

    @property
    def url(self) -> str:
        """The address of its database, with the password."""
        return f"postgresql://palimpsest:{self.password.read_text()}@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        """Make its data folder, unless that is there."""
        if (self.data / "PG_VERSION").exists():
            return
        self.password.write_text(secrets.token_urlsafe(16))
        with tempfile.NamedTemporaryFile("w") as words:
            words.write(self.password.read_text())
            words.flush()
            if self.user:
                shutil.chown(words.name, self.user)
            form = ("--encoding=UTF8", "--locale=C.UTF-8", "--auth=scram-sha-256", "--no-sync")
            owner = ("--username=palimpsest", f"--pwfile={words.name}")
            command = (str(binary("initdb")), "-D", str(self.data), *form, *owner)
            done = subprocess.run(
                tied("KILL", *command, user=self.user), cwd="/", capture_output=True, check=False
            )
        if done.returncode:
            raise PartFailed(f"initdb failed:\n{done.stderr.decode()}")

    def start(self) -> None:
        """Start it, and return once it answers; its data folder is made first."""
        self.make()
        super().start()

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        named = values[0] if values and isinstance(values[0], dict) else values
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.url, autocommit=True)
        try:
            cursor = self._connection.execute(sql, named or None)
        except psycopg.OperationalError:
            # It was restarted since.
            self._connection.close()
            return self.ask(sql, *values)
        return cursor.fetchall() if cursor.description else []

    def _place(self, folder: Path) -> Path:
        """Return a folder that its user can enter and owns."""
        if not self.user:
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        if not _can_enter(self.user, folder):
            # Root's own folders are shut for it, those of tests among them.
            digest = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
            folder = Path("/var/tmp") / f"palimpsest-postgres-{digest}"  # noqa: S108 - the owner is looked at
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.is_symlink() or folder.owner() not in {getpass.getuser(), self.user}:
                raise PartFailed(f"{folder} belongs to somebody else: remove it.")
        shutil.chown(folder, self.user)
        folder.chmod(0o700)
        return folder

    def stop(self) -> None:
        """End it in order, if it runs."""
        if self._connection:
            self._connection.close()
        super().stop()

    def remove(self) -> None:
        """Remove its data."""
        shutil.rmtree(self.data, ignore_errors=True)

    def _launch(self, log: Any) -> subprocess.Popen[bytes]:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": 300,
            "fsync": "on" if self.durable else "off",
            "full_page_writes": "on" if self.durable else "off",
        }
        given = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        command = (str(binary("postgres")), "-D", str(self.data), *given)
        return subprocess.Popen(
            tied("INT", *command, user=self.user),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl+C ends whoever uses it first.
            start_new_session=True,
        )

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


class Redis(Service):
    """A Redis with a password that keeps nothing, and drops nothing by itself."""

    name = "Redis"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.password = secrets.token_urlsafe(16)

    @property
    def url(self) -> str:
        """Its address, with the password."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def connect(self) -> "redis.Redis":
        """Return a client."""
        return redis.Redis.from_url(self.url, socket_timeout=PATIENCE, decode_responses=True)

    def stop_and_keep(self) -> None:
        """End it in order; what it holds is there again at its next start, as after a pause."""
        with (
            contextlib.closing(self.connect()) as client,
            contextlib.suppress(redis.ConnectionError),
        ):
            client.shutdown(save=True)
        if self.process:
            self.process.wait(PATIENCE)

    def start(self) -> None:
        """Start it with what was kept for it, and return once it answers."""
        super().start()
        (self.folder / "dump.rdb").unlink(missing_ok=True)

    def _launch(self, log: Any) -> subprocess.Popen[bytes]:
        options: Sequence[tuple[str, object]] = (
            ("bind", "127.0.0.1"),
            ("port", self.port),
            ("dir", self.folder),
            ("requirepass", self.password),
            ("save", '""'),
            ("appendonly", "no"),
            ("maxmemory-policy", "noeviction"),
        )
        process = subprocess.Popen(
            tied("TERM", "redis-server", "-"),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        assert process.stdin
        with process.stdin:
            # No other user of the machine sees what comes this way.
            process.stdin.write("".join(f"{key} {value}\n" for key, value in options).encode())
        return process

    def _answers(self) -> bool:
        try:
            with contextlib.closing(self.connect()) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


def binary(name: str) -> Path:
    """Return a program of the newest PostgreSQL that is installed; raise PartFailed without one."""
    for folder in sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda one: int(one.parent.name),
        reverse=True,
    ):
        if int(folder.parent.name) >= OLDEST and (folder / name).exists():
            return folder / name
    if found := shutil.which(name):
        return Path(found)
    raise PartFailed(f"There is no {name} of PostgreSQL {OLDEST} or newer: run .ci/services.")


def missing() -> str:
    """Return which services are not installed, "" where all are."""
    try:
        binary("initdb")
    except PartFailed:
        return "postgresql"
    return "" if shutil.which("redis-server") else "redis-server"


def _can_enter(user: str, folder: Path) -> bool:
    """Return whether another user can enter a folder."""
    looked = subprocess.run(
        tied("KILL", "test", "-x", str(folder), user=user), cwd="/", check=False
    )
    return looked.returncode == 0
