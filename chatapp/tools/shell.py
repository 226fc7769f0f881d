"""Commands in the workspace: nothing of the server's environment, and all within limits.

With bubblewrap, a command sees the system read-only, the workspace, and nothing else of this
machine's files; without it, it sees all files that the server's user sees.
"""

import asyncio
import contextlib
import ctypes
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from chatapp.agent.ports import Line
from chatapp.tools import shell_supervisor
from chatapp.tools.workspace import explained
from condense import open_folder

# Megabytes of memory, and processes, that one command may have.
MEMORY, PROCESSES = 4_096, 256

# Bytes of output that are kept; a command that writes more goes on, and the rest is lost.
MAX_KEPT = 200 * 1024 * 1024

# Long outputs of one conversation that are kept, and bytes of all of them.
MAX_OUTPUTS, MAX_ALL = 50, 1024 * 1024 * 1024

# Characters of the end of the output that are shown while it runs, and how often, in seconds.
SHOWN, PAUSE = 8_000, 0.25

# Seconds that a supervisor has, after the time is up, to end all that it watches over.
SUPERVISOR_SECONDS = 1.0

# Folders of the system that a command sees.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt")
_CHUNK = 65_536
_SET_DUMPABLE = 4  # prctl
# The sandbox's own folder, in memory.
_SCRATCH = "/tmp"  # noqa: S108 - it is none of this machine's


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a command: exit code, seconds, and the file of its output."""

    code: int
    seconds: float
    output: Path


@dataclass(frozen=True)
class Shell:
    """Runs commands in ``root`` and keeps up to ``most`` bytes of each output in ``outputs``."""

    root: Path
    outputs: Path
    line: Line
    most: int = MAX_KEPT

    async def run(self, command: str, seconds: int) -> Ran:
        """Run a command to its end; a cancellation ends it and its processes."""
        output = await asyncio.to_thread(make_room, self.outputs)
        started = time.monotonic()
        process = await start_supervised(
            self.root, command, seconds, stderr=asyncio.subprocess.STDOUT
        )
        clearing = asyncio.create_task(clear_up(process))
        try:
            # The supervisor is faster, unless the command has ended or halted it.
            async with asyncio.timeout(seconds + SUPERVISOR_SECONDS):
                await self._keep(process, output)
                code = await process.wait()
        except TimeoutError:
            code = shell_supervisor.TIMED_OUT
        finally:
            if process.returncode is None:
                process.kill()
            await clearing
        return Ran(code, time.monotonic() - started, output)

    async def _keep(self, process: asyncio.subprocess.Process, output: Path) -> None:
        """Write a command's output to a file, and show its end from time to time."""
        assert process.stdout  # noqa: S101 - it was asked for
        end, size, shown = b"", 0, 0.0
        with output.open("wb") as file:
            while chunk := await process.stdout.read(_CHUNK):
                await asyncio.to_thread(file.write, chunk[: max(0, self.most - size)])
                size += len(chunk)
                end = (end + chunk)[-SHOWN:]
                if time.monotonic() - shown > PAUSE:
                    shown = time.monotonic()
                    self.line.show(end.decode(errors="replace"))


def make_room(outputs: Path) -> Path:
    """Return a path for a new output; the oldest are removed if they take too much room."""
    outputs.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = sorted(outputs.iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)
    room = MAX_ALL - MAX_KEPT
    for place, one in enumerate(kept, 2):
        room -= one.stat().st_size
        if place > MAX_OUTPUTS or room < 0:
            one.unlink(missing_ok=True)
    return outputs / f"{secrets.token_hex(8)}.txt"


async def clear_up(process: asyncio.subprocess.Process) -> None:
    """Wait until a supervisor has ended, and end its remaining processes.

    A command may have killed it. ``process.wait`` would wait for all that hold its output, too.
    """
    if process.returncode is None:
        ended, handle = asyncio.Event(), os.pidfd_open(process.pid)
        loop = asyncio.get_running_loop()
        loop.add_reader(handle, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(handle)
            os.close(handle)
    await asyncio.to_thread(shell_supervisor.end_session, process.pid)


def hide_environment() -> None:
    """Hide this process's memory and environment, which hold keys, from others of its user."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def environment(root: Path) -> Mapping[str, str]:
    """Return a command's environment, in which there is nothing of the server's."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(root),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


async def start_supervised(
    root: Path, command: str, seconds: int, *, lifeline: int = 0, **options: Any
) -> asyncio.subprocess.Process:
    """Start a command for /bin/sh in ``root``, with pipes, and return its supervisor.

    Raises ToolError for a ``root`` that is no folder, is a link, or lies behind one.

    It ends when its time is up, or when the other end of ``lifeline`` closes: its input, which the
    command does not get then, or another pipe. ``options`` are the process's.
    """
    limits = map(str, (seconds, MEMORY, PROCESSES, lifeline))
    supervising = (sys.executable, "-I", str(Path(shell_supervisor.__file__)), *limits)
    # Processes of a command that ends its supervisor become this process's, and are found here.
    shell_supervisor.adopt_orphans()
    with explained("."), open_folder(root) as found:
        sandbox = await asyncio.to_thread(sandboxed, root, found)
        return await asyncio.create_subprocess_exec(
            *supervising,
            *sandbox,
            *("/bin/sh", "-c", command),
            cwd=way_to(found, root),
            env=environment(root),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            pass_fds=(found, lifeline) if lifeline else (found,),
            **options,
        )


def bubblewrap() -> str | None:
    """Return the path of bubblewrap, None if none works."""
    program = shutil.which("bwrap")
    return program if program and _works(program) else None


@cache
def _works(program: str) -> bool:
    """Return True if the system lets it make a sandbox; some containers do not."""
    probe = [program, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    tried = subprocess.run(probe, capture_output=True, check=False)  # noqa: S603 - all fixed
    return tried.returncode == 0


def way_to(found: int, root: Path) -> str:
    """Return the path of an open folder for a process that inherits its descriptor."""
    return f"/proc/self/fd/{found}" if sys.platform == "linux" else str(root)


def sandboxed(root: Path, found: int, *others: Path) -> list[str]:
    """Return bubblewrap's command line for a sandbox; empty without bubblewrap.

    It sees the folder that is open as ``found`` in the place of ``root``, and ``others``. It may
    start a process, once, to test bubblewrap.
    """
    program = bubblewrap()
    if program is None:
        return []
    system = [part for name in _SYSTEM for part in ("--ro-bind-try", name, name)]
    own = ("--proc", "/proc", "--dev", "/dev", "--tmpfs", _SCRATCH)
    more = [part for one in others for part in ("--bind", str(one), str(one))]
    place = (*more, "--bind-fd", str(found), str(root), "--chdir", str(root))
    return [program, "--unshare-all", "--die-with-parent", "--new-session", *system, *own, *place]
