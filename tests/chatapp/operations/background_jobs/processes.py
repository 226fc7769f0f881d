"""Processes on one database, which tests start, talk to and end."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cluster.services import Postgres
from tests.processes import ROOT

PROGRAM = "tests.chatapp.operations.background_jobs.program"
JOBS = ("say", "hold")
# Seconds after which a test fails that would stand still otherwise.
PATIENCE = 120


class Process:
    """A process that enqueues jobs, or works on so many at once of each queue as well."""

    def __init__(
        self, environment: dict[str, str], concurrency: int, jobs: tuple[str, ...]
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, str(concurrency), *jobs],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        # What it says, by its kind; its log has none.
        self._lines: defaultdict[str, queue.Queue[Any]] = defaultdict(queue.Queue)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            said = json.loads(line) if line.startswith("{") else {"": line}
            for kind, what in said.items():
                self._lines[kind].put(what)

    def ask(self, what: Any, answer: str) -> Any:
        """Have it do something, and return its answer of this kind."""
        self.tell(what)
        return self.hear(answer)

    def tell(self, what: Any) -> None:
        """Have it do something."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def hear(self, kind: str) -> Any:
        """Return the next thing of this kind that it says."""
        return self._lines[kind].get(timeout=PATIENCE)

    def hear_word(self, word: str) -> None:
        """Wait until it says this word: another one may have been said twice."""
        while self.hear("said") != word:
            pass

    def has_said(self, kind: str) -> list[Any]:
        """Return what it said of this kind that nobody has heard; for one that has ended."""
        self._reader.join()
        return [*self._lines[kind].queue]

    def read_log(self, words: str) -> None:
        """Wait until it logs these words."""
        while words not in self.hear(""):
            pass

    def end(self) -> None:
        """End it in order: nothing more is said to it."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait() == 0

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Leave nothing of it."""
        with self.process:
            self.kill()
            self._reader.join()


Start = Callable[..., Process]


def environment(server: Postgres, data: Path) -> dict[str, str]:
    """Return what tells processes that they are several; no Redis is asked for anything here."""
    return {
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(data),
        "DATABASE_URL": server.url,
        "REDIS_URL": "redis://127.0.0.1:1",
        "SECRET_KEY": "a key of tests",
        "SEAL_KEY": "another one",
        "SAFE_POINT": "0",
    }
