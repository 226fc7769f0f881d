"""Parser process: parses sources, started when first needed and restarted when it died.

A thread would not do: tree-sitter holds Python's interpreter lock while it parses, and some
grammars take minutes over a few kilobytes of hostile text. Here the event loop goes on, a parse
that takes too long is ended, and a crash costs one file.
"""

import atexit
import json
import os
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from condense.errors import SkipReason, Unfoldable

_WORKER = Path(__file__).with_name("worker.py")


class Span(NamedTuple):
    """Rows ``first`` to ``last``, from 0; a signature is shown however short it is."""

    first: int
    last: int
    signature: bool = False


class ParserProcess:
    """One worker process, shared by all threads; it dies with the process that started it.

    It is started with the first source. One source may take so many ``seconds``.
    """

    def __init__(self, seconds: float = 5.0, worker: Path = _WORKER) -> None:
        self.seconds = seconds
        self.worker = worker
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def parse(self, language: str, source: bytes) -> tuple[list[Span], bool]:
        """Return where definitions are, and whether the source has syntax errors.

        Raises Unfoldable where there is no answer in time.
        """
        request = json.dumps({"language": language, "size": len(source)}).encode() + b"\n" + source
        with self._lock:
            # A worker that idled may have ended itself meanwhile; a fresh one has not.
            found = json.loads(self._ask(request) or self._ask_a_fresh_one(request))
        return [Span(*row) for row in found["spans"]], found["broken"]

    def close(self) -> None:
        """End the worker; the next parse starts another one."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()

    def _ask(self, request: bytes) -> bytes:
        """Return the worker's answer, nothing where there is no worker or it died."""
        process = self._process
        # After a fork, the parent's worker is not ours to talk to.
        if self._owner != os.getpid() or not (process and process.stdin and process.stdout):
            return b""
        try:
            process.stdin.write(request)
            process.stdin.flush()
        except BrokenPipeError:
            return b""
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN)
        if not poll.poll(self.seconds * 1000):
            self.close()
            raise Unfoldable(SkipReason.TOO_SLOW)
        return process.stdout.readline()

    def _ask_a_fresh_one(self, request: bytes) -> bytes:
        self.close()
        self._owner = os.getpid()
        atexit.unregister(self.close)
        atexit.register(self.close)
        try:
            process = self._process = subprocess.Popen(  # noqa: S603 - Python itself, and this package's file
                [sys.executable, "-I", str(self.worker)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            raise Unfoldable(SkipReason.NO_PARSER) from None
        if answer := self._ask(request):
            return answer
        code = process.wait()
        self.close()
        raise Unfoldable(SkipReason.NO_PARSER if code == os.EX_UNAVAILABLE else SkipReason.CRASHED)


parser = ParserProcess()
