"""What background jobs of these tests are, whoever runs them."""

import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from chatapp.operations.background_jobs import JOBS
from tests.chatapp.operations.background_jobs import played_jobs
from tests.chatapp.operations.background_jobs.processes import JOBS as NAMES
from tests.chatapp.operations.background_jobs.processes import Process, Start, environment
from tests.cluster.services import Postgres, missing
from tests.processes import ROOT


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[deque[str]]:
    """The words of jobs ``say``, ``wait`` and ``fail``, in their order."""
    for name in ("say", "wait", "fail"):
        monkeypatch.setitem(JOBS, name, f"{played_jobs.__name__}.{name}")
    yield played_jobs.said
    played_jobs.said.clear()
    played_jobs.begun.clear()
    played_jobs.go_on.clear()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A server which workers take jobs from, and which a test may stop."""
    if missing() == "postgresql":
        pytest.skip("needs Debian's PostgreSQL: run .ci/services")
    server = Postgres(tmp_path_factory.mktemp("postgres") / "server", durable=False)
    try:
        server.start()
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
        there = environment(server, tmp_path_factory.mktemp("data"))
        subprocess.run(migrate, cwd=ROOT, env=there, check=True)
        yield server
    finally:
        server.stop()
        server.remove()


@pytest.fixture
def start(postgres: Postgres, tmp_path: Path) -> Iterator[Start]:
    """Start a process: ``start()`` only enqueues, ``start(2)`` works on two jobs at once too."""
    with psycopg.connect(postgres.url) as connection:
        connection.execute("TRUNCATE procrastinate_jobs, procrastinate_workers, auth_user CASCADE")
    with ExitStack() as stack:

        def start(concurrency: int = 0, jobs: tuple[str, ...] = NAMES) -> Process:
            process = Process(environment(postgres, tmp_path), concurrency, jobs)
            stack.callback(process.close)
            return process

        yield start
