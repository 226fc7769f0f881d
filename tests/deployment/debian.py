"""Programs of Debian's that these tests start; `.ci/services` installs them."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


def need(program: str, package: str = "") -> str:
    """Return a program's path; without it a test is skipped, and fails in CI."""
    # Not everybody's shell looks where servers are.
    path = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if path is None:
        missing = f"There is no {program}: run `.ci/services {package or program}`."
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return path


@contextmanager
def running(port: int, *command: str) -> Iterator[None]:
    """Run a server until the end of the block, which begins when it listens on its port."""
    with subprocess.Popen(command) as process:
        try:
            while not listens(port):
                assert process.poll() is None, f"{command[0]} did not start"
                time.sleep(0.02)
            yield
        finally:
            process.terminate()


def listens(port: int) -> bool:
    """Return whether somebody takes connections on a loopback port."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True
