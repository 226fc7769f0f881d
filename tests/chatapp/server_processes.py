"""Servers in processes of their own, which run or say why they do not."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.processes import ROOT

PATIENCE = 90  # seconds; a busy machine takes its time to end a process
SIGN_IN = re.compile(r"^http://127\.0\.0\.1:\d+/sign-in/[^/\s]+/\n$")


def start(data: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a server in a process of its own, on a free port unless one is given."""
    inherited = {"PATH": os.environ["PATH"], "DATA_DIR": str(data), "PORT": "0"}
    return subprocess.Popen(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env=inherited | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(data: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a running server and the address that it printed."""
    server = start(data, **environment)
    assert server.stdout
    try:
        yield server, server.stdout.readline()
    finally:
        server.kill()
        server.communicate()


def refusal(data: Path, **environment: str) -> str:
    """Return the sentence of a start that must fail, without its line end."""
    stdout, stderr = start(data, **environment).communicate(timeout=PATIENCE)
    assert stdout == ""
    assert "Traceback" not in stderr
    assert stderr.count("\n") == 1, stderr
    return stderr.strip()
