"""The name of a process that is over, under which it may have left something."""

import subprocess
import sys

from chatapp.models.turns import describe


def ended_process() -> str:
    """Return a process of this machine that is over, as an owner."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        owner = describe(process.pid)
        process.communicate(b"\n")
    return owner
