"""Processes that tests and measurements start: servers of this project and what they talk to."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]


@contextmanager
def started(
    *arguments: str, stderr: IO[str] | None = None, **environment: str
) -> Iterator[tuple[int, str]]:
    """Run Python in the project's folder; yield the process's id and the first line it prints."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environment},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    ) as process:
        assert process.stdout
        try:
            yield process.pid, process.stdout.readline().strip()
        finally:
            process.terminate()
