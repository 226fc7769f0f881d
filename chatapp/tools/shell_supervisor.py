"""A program that runs one command, and ends all its processes with it.

    python -I supervisor.py SECONDS MEGABYTES PROCESSES LIFELINE COMMAND…

It ends the command and all that it has started when the time is up, or when the lifeline ends: that
is the server's end of a pipe, which closes with the server at any end of that. If that is standard
input, the command has nothing to read. Processes that it leaves running are ended with it. The exit
code is the command's, or one of those below.

It leads a session, so that the server finds the remains if a command has ended its supervisor. A
process with a session of its own is the server's child then, and has the limit of a command.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path

TIMED_OUT, ENDED = 124, 125

# prctl: a process that loses its parent becomes a child of this process, and can be found.
_SET_CHILD_SUBREAPER = 36
_SET_NO_NEW_PRIVILEGES = 38

_TICK = 0.02  # seconds
_SHARE = 1024 * 1024
_LARGEST_FILE = 1024 * _SHARE


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code, or the code for its forced end."""
    seconds, megabytes, processes, lifeline = map(int, arguments[:4])
    os.set_inheritable(lifeline, lifeline == 0)
    libc = adopt_orphans()
    child = os.fork()
    if not child:
        if lifeline == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _become(arguments[4:], seconds, megabytes, processes, libc)
    until = time.monotonic() + seconds
    try:
        while True:
            done, status = os.waitpid(-1, os.WNOHANG)
            if done == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            if time.monotonic() > until:
                return TIMED_OUT
            readable, _, _ = select.select([lifeline], [], [], _TICK)
            if readable and not os.read(lifeline, 1):
                return ENDED
    finally:
        end_session(os.getpid())


def adopt_orphans() -> ctypes.CDLL:
    """Adopt orphaned descendants (PR_SET_CHILD_SUBREAPER); return the C library."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return libc


def _become(
    command: list[str], seconds: int, megabytes: int, processes: int, libc: ctypes.CDLL
) -> None:
    """Become the command, in a process group of its own and within limits."""
    try:
        os.setpgid(0, 0)
        # Python ignores these, and the command would inherit that.
        for one in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(one, signal.SIG_DFL)
        libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        # The limit of processes counts all threads that this user runs already.
        own, threads = os.getuid(), 0
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if process.stat().st_uid == own:
                    threads += sum(1 for _ in (process / "task").iterdir())
        limits = (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, seconds + 1),
            (resource.RLIMIT_DATA, megabytes * _SHARE),
            (resource.RLIMIT_FSIZE, _LARGEST_FILE),
            (resource.RLIMIT_NPROC, processes + threads),
        )
        for limit, most in limits:
            _, hard = resource.getrlimit(limit)
            least = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(limit, (least, least))
        os.execvp(command[0], command)  # noqa: S606 - to run a command is what it is for
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def end_session(leader: int) -> None:
    """End the processes of a session, except its leader; repeat until none is found."""
    while found := _members(leader):
        for process in found:
            # Halted first, so that none starts another while the others are ended.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        for process in found:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, os.WNOHANG)
        time.sleep(_TICK / 10)


def _members(leader: int) -> set[int]:
    """Return the processes of a session, and all that descend from its leader or from them.

    Those that have ended are left out, and so is the leader. Processes that fell to this one, since
    their commands have ended their supervisors, belong to it, too, also those that have ended: they
    may have made others meanwhile.
    """
    children: dict[int, list[int]] = {}
    waiting, own = [leader], os.getpid()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (process / "stat").read_text("utf-8", "replace")
            state, parent, _group, session = stat.rpartition(")")[2].split()[:4]
            one, is_left = int(process.name), int(parent) == own and _is_limited(int(process.name))
            if state != "Z" or is_left:
                children.setdefault(int(parent), []).append(one)
                if int(session) == leader or is_left:
                    waiting.append(one)
    found: set[int] = set()
    while waiting:
        member = waiting.pop()
        if member not in found:
            found.add(member)
            waiting.extend(children.get(member, []))
    return found - {leader}


def _is_limited(process: int) -> bool:
    """Return True if a process has a command's hard CPU limit."""
    _, most = resource.prlimit(process, resource.RLIMIT_CPU)
    return most not in {resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_CPU)[1]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
