"""Which process a turn belongs to, and whether that process still exists.

An owner is "machine/process/start": the machine by name and boot, so that a restart of it is
another one, and the process by number and start, since numbers are given out again.
"""

import functools
import os
import socket
from datetime import timedelta
from pathlib import Path

_PROC = Path("/proc")
_BOOT = _PROC / "sys/kernel/random/boot_id"

# States of a process that is a zombie, or about to disappear (proc_pid_stat(5)).
_ENDED = frozenset("ZXx")

# An owner that has not been heard of for so long is gone, wherever it was.
SILENCE = timedelta(seconds=8)


def this_process() -> str:
    """Return this process as an owner."""
    return describe(os.getpid())


@functools.cache
def describe(pid: int) -> str:
    """Return a process of this machine as an owner."""
    return f"{_machine()}/{pid}/{_start_of(pid) or '?'}"


@functools.cache
def _machine() -> str:
    boot = _BOOT.read_text("ascii").strip()[:8] if _BOOT.exists() else "?"
    return f"{socket.gethostname()[:60]}.{boot}"


def _start_of(pid: int) -> str:
    """Return when a process of this machine began, in ticks since its boot; "" without one.

    A zombie is none: it has ended, and only its parent has not asked for its exit code yet.
    """
    try:
        status = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    # The name in parentheses may have spaces; the state follows it, and 18 fields later the start.
    state, *fields = status.rpartition(")")[2].split()
    return "" if state in _ENDED else fields[18]


def has_ended(owner: str) -> bool:
    """Whether an owner is a process of this machine that does not exist any more."""
    machine, pid, start = owner.rsplit("/", 2) if owner.count("/") > 1 else ("", "0", "")
    if machine != _machine() or not _PROC.is_dir():
        return False
    return _start_of(int(pid)) != start
