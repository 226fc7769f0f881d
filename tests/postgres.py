"""A PostgreSQL that belongs to one test alone, which may stop it and start it again."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Debian's programs are in no PATH.
PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
# It refuses to be run by root.
OWNER = "postgres"


class PrivatePostgres:
    """A server in a folder of its own, on a loopback port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"postgresql://{OWNER}@127.0.0.1:{self.port}/postgres"
        self._run("initdb", f"--username={OWNER}", "--auth=trust", "--no-sync", "--locale=C.UTF-8")
        self.start()

    def start(self) -> None:
        """Start it, and return when it can be connected to."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        log = self._folder / "log"
        self._run("pg_ctl", "start", "--wait", f"--options={options}", f"--log={log}")

    def stop(self) -> None:
        """Stop it as an administrator does: whoever is connected is cut off."""
        self._run("pg_ctl", "stop", "--wait", "--mode=fast")

    def _run(self, program: str, *arguments: str) -> None:
        user = OWNER if os.geteuid() == 0 else None
        data = f"--pgdata={self._folder / 'data'}"
        subprocess.run(
            [PROGRAMS[-1] / program, *arguments, data],
            check=True, cwd="/", user=user, group=user, stdout=subprocess.DEVNULL,
        )  # fmt: skip


@contextmanager
def private_postgres() -> Iterator[PrivatePostgres]:
    """Start one, and take it away at the end."""
    # pytest's own folders are for nobody else, and another user runs it.
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        if os.geteuid() == 0:
            owner = pwd.getpwnam(OWNER)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        server = PrivatePostgres(folder)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)
