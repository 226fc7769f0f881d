"""Worker processes: a script that answers requests apart from this process.

A crash, too much memory or a request that takes too long ends the script and nothing else.
"""

import atexit
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path


class WorkerProcess:
    """One process, shared by all threads, that runs a script; it dies with its parent.

    It is started with the first request. A request takes ``seconds`` at most.
    """

    def __init__(self, worker: Path, *options: str, seconds: float) -> None:
        self.worker, self.options, self.seconds = worker, options, seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._owner, self._is_wanted = 0, False
        self._lock = threading.Lock()

    def ask(self, request: bytes) -> bytes:
        """Return the line that answers; raise TimeoutError or, by exit code, ChildProcessError."""
        with self._lock:
            self._is_wanted = True
            if answer := self._ask(request):
                return answer
            if not self._is_wanted:
                raise ChildProcessError(os.EX_UNAVAILABLE, str(self.worker))
            # A worker that idled may have ended itself meanwhile; a fresh one has not.
            return self._ask_a_fresh_one(request)

    def interrupt(self) -> None:
        """End the worker; a request of this moment fails, in the thread that asks."""
        self._is_wanted, process = False, self._process
        if process is not None and self._owner == os.getpid():
            process.kill()

    def close(self) -> None:
        """End the worker; the next request starts another one."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()

    def _ask(self, request: bytes) -> bytes:
        """Return the worker's answer, nothing without a worker or if it died."""
        process = self._process
        # After a fork, the parent's worker is not ours to talk to.
        if self._owner != os.getpid() or not (process and process.stdin and process.stdout):
            return b""
        limit = threading.Timer(self.seconds, process.kill)
        limit.start()
        answer = b""
        with suppress(BrokenPipeError):
            process.stdin.write(request)
            process.stdin.flush()
            answer = process.stdout.readline()
        is_late = not limit.is_alive()
        limit.cancel()
        if answer.endswith(b"\n"):
            return answer
        if is_late:
            self.close()
            raise TimeoutError
        return b""

    def _ask_a_fresh_one(self, request: bytes) -> bytes:
        self.close()
        self._owner = os.getpid()
        atexit.unregister(self.close)
        atexit.register(self.close)
        try:
            process = self._process = subprocess.Popen(  # noqa: S603 - Python itself, and a file of ours
                [sys.executable, "-I", str(self.worker), *self.options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            raise ChildProcessError(os.EX_UNAVAILABLE, str(self.worker)) from None
        if answer := self._ask(request):
            return answer
        code = process.wait()
        self.close()
        raise ChildProcessError(code, str(self.worker))
