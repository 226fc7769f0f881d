"""A cluster on this machine: all of its parts begin and end together."""

import contextlib
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.cluster.nodes import Node
from tests.cluster.services import PartFailed, Postgres, Redis
from tests.processes import ROOT

# What a turn's owner is called has the id of its process.
PROCESS = re.compile(r"/(\d+)\b")


class Cluster:
    """The parts of a cluster; to be used as a context manager, which starts and ends them all.

    Without ``workers`` it is one process that has a PostgreSQL, and no Redis: the other way to run.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        webs: int = 2,
        workers: int = 2,
        durable: bool = False,
    ) -> None:
        """Keep all that is stored in ``folder``; ``durable`` data outlive the machine."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.postgres = Postgres(folder / "postgres", durable=durable)
        self.redis = Redis(folder / "redis") if workers else None
        self.given = environment
        self.webs = [Node("serve", n, folder, self.environment) for n in range(1, webs + 1)]
        self.workers = [Node("work", n, folder, self.environment) for n in range(1, workers + 1)]

    @property
    def environment(self) -> dict[str, str]:
        """The variables of each of its processes."""
        key = self.folder / "secret-key"
        if not key.exists():
            key.touch(mode=0o600)
            key.write_text(secrets.token_urlsafe(64))
        self.postgres.make()
        return {
            **self.given,
            # Whether they are ready is read from what they print.
            "LC_ALL": "C",
            "DATA_DIR": str(self.folder / "data"),
            "WORKSPACES_ROOT": str(self.folder / "data" / "workspaces"),
            "SECRET_KEY": key.read_text(),
            "SEAL_KEY": key.read_text(),
            "HOST": "127.0.0.1",
            "DATABASE_URL": self.postgres.url,
            "REDIS_URL": self.redis.url if self.redis else "",
        }

    @property
    def nodes(self) -> Sequence[Node]:
        """All processes of the project."""
        return [*self.webs, *self.workers]

    @property
    def runners(self) -> Sequence[Node]:
        """The processes in which turns run."""
        return self.workers or self.webs

    def web(self, number: int) -> Node:
        """Return a web process by its number, from 1; where there is one, it is that."""
        return self.webs[(number - 1) % len(self.webs)]

    def __enter__(self) -> Self:
        try:
            self.postgres.start()
            if self.redis:
                self.redis.start()
                self.manage("migrate", "--verbosity=0")
            first, *others = self.nodes
            # It makes what the others find: the owner, and the static files. A sign-in link ends
            # those before it, so the last one's is the one to use.
            first.start()
            for node in others:
                node.launch()
            for node in others:
                node.ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        finally:
            self.kill()

    def stop(self) -> None:
        """End all of it in order: its processes first, and then what they need."""
        alive = [node for node in self.nodes if node.is_alive]
        for node in alive:
            node.thaw()
            node.signal(signal.SIGTERM)
        for node in alive:
            node.ended()
        for service in self._services():
            service.stop()

    def kill(self) -> None:
        """End whatever of it runs."""
        for part in (*self.nodes, *self._services()):
            part.kill()

    def _services(self) -> Iterator[Postgres | Redis]:
        if self.redis:
            yield self.redis
        yield self.postgres

    def manage(self, *command: str) -> None:
        """Run one of the project's commands to its end; raise PartFailed where that fails."""
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PartFailed(f"manage.py {command[0]} failed:\n{done.stderr}")

    @property
    def link(self) -> str:
        """The path of a link that signs its owner in, at any of its web processes."""
        address = self.webs[-1].link
        return address[address.index("/sign-in/") :]

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        return self.postgres.ask(sql, *values)

    def value(self, sql: str, *values: Any) -> Any:
        """Return the one value of a statement."""
        ((value,),) = self.ask(sql, *values)
        return value

    def node_of(self, owner: str) -> Node | None:
        """Return the process that a turn's owner names, None where none of them runs as that."""
        pids = {int(pid) for pid in PROCESS.findall(owner)}
        return next((node for node in self.nodes if node.process and node.pid in pids), None)

    @contextlib.contextmanager
    def without(self, node: Node) -> Iterator[None]:
        """Go on without a process, ended in order, and start it again afterwards."""
        node.end()
        try:
            yield
        finally:
            node.start()
