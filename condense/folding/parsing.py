"""Parsing in a process of its own, started when first needed and restarted when it died.

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
from typing import IO, NamedTuple

from condense.folding.captures import Span
from condense.folding.errors import Unfoldable
from condense.folding.folded import SkipReason

_WORKER = Path(__file__).with_name("worker.py")
SECONDS = 5.0


class Parsed(NamedTuple):
    """Where definitions are, and whether the source has syntax errors."""

    spans: list[Span]
    broken: bool


class ParserProcess:
    """One worker process, shared by all threads; it dies with the process that started it.

    ``parses`` counts what it was asked: a source that was folded before is not asked again.
    """

    def __init__(self, seconds: float = SECONDS, worker: Path = _WORKER) -> None:
        """Take how long one source may take, and the worker's script; start nothing yet."""
        self.seconds = seconds
        self.worker = worker
        self.parses = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def parse(self, language: str, source: bytes) -> Parsed:
        """Return what the worker found; raise Unfoldable where it gave no answer in time."""
        request = json.dumps({"language": language, "size": len(source)}).encode() + b"\n" + source
        with self._lock:
            self.parses += 1
            # A process that idled may have ended itself meanwhile; a fresh one has not.
            answer = (self._is_running() and self._ask(request)) or self._ask_a_fresh_one(request)
        found = json.loads(answer)
        return Parsed([Span(*row) for row in found["spans"]], found["broken"])

    def close(self) -> None:
        """End the worker; the next parse starts another one."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()

    def _is_running(self) -> bool:
        # After a fork, the parent's worker is not ours to talk to.
        return self._process is not None and self._owner == os.getpid()

    def _ask_a_fresh_one(self, request: bytes) -> bytes:
        self.close()
        self._start()
        answer = self._ask(request)
        if not answer:
            raise Unfoldable(self._reason_of_end())
        return answer

    def _reason_of_end(self) -> SkipReason:
        """Clean up after a worker that closed its pipe, and tell why it did."""
        process = self._process
        code = process.wait() if process else None
        self.close()
        return SkipReason.NO_PARSER if code == os.EX_UNAVAILABLE else SkipReason.CRASHED

    def _start(self) -> None:
        self._owner = os.getpid()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - Python itself, and this package's file
                [sys.executable, "-I", str(self.worker)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            raise Unfoldable(SkipReason.NO_PARSER) from None
        atexit.unregister(self.close)
        atexit.register(self.close)

    def _ask(self, request: bytes) -> bytes:
        """Return the worker's answer, nothing where it died."""
        requests, answers = _pipes(self._process)
        try:
            requests.write(request)
            requests.flush()
        except BrokenPipeError:
            return b""
        poll = select.poll()
        poll.register(answers, select.POLLIN)
        if not poll.poll(self.seconds * 1000):
            self.close()
            raise Unfoldable(SkipReason.TOO_SLOW)
        return answers.readline()


def _pipes(process: subprocess.Popen[bytes] | None) -> tuple[IO[bytes], IO[bytes]]:
    if process is None or process.stdin is None or process.stdout is None:
        raise RuntimeError("The worker was not started.")
    return process.stdin, process.stdout


parser = ParserProcess()
