"""Processes of the project's own commands, which are killed, frozen and started again."""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.services import PATIENCE, PartFailed, last_lines, tied
from tests.processes import ROOT

# How the line begins that says that it is ready.
READY = {"serve": "http://", "work": "Working."}


class Node:
    """A process of one command, through its lives."""

    def __init__(
        self,
        command: str,
        number: int,
        folder: Path,
        environment: Mapping[str, str],
        *arguments: str,
    ) -> None:
        """Name it, as in "web 1"; nothing runs yet."""
        self.command = command
        self.arguments = arguments
        self.name = f"{'web' if command == 'serve' else 'worker'} {number}"
        self.log = folder / f"{self.name.replace(' ', '-')}.log"
        self.environment = environment
        self.link = ""
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self._said: queue.Queue[str] = queue.Queue()
        self._is_ready = False
        # The id of the process that was killed last.
        self.died = 0

    @property
    def pid(self) -> int:
        """The id of its process."""
        assert self.process
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.poll() is None

    @property
    def origin(self) -> str:
        """The address at which it serves, where it does."""
        return f"http://127.0.0.1:{self.port}"

    def launch(self, **environment: str) -> None:
        """Start it; ``ready`` waits for it."""
        # Pages find it again under the same address.
        own = {**self.environment, "PORT": str(self.port), **environment}
        self._said, self._is_ready = queue.Queue(), False
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                tied("KILL", sys.executable, "manage.py", self.command, *self.arguments),
                cwd=ROOT,
                env=own,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # Ctrl+C is for whoever started it: that ends all in order.
                start_new_session=True,
            )
        threading.Thread(target=self._listen, args=(self.process, self._said), daemon=True).start()

    def ready(self) -> None:
        """Return once it said that it is ready; raise PartFailed with its last words otherwise."""
        if self._is_ready:
            return
        line = self.until(READY[self.command])
        self._is_ready = True
        if self.command == "serve":
            self.link = line
            self.port = int(line.partition("/sign-in/")[0].rpartition(":")[2])

    def start(self, **environment: str) -> None:
        """Start it, and return once it is ready."""
        self.launch(**environment)
        self.ready()

    def until(self, words: str) -> str:
        """Return the next line it prints that begins so."""
        try:
            while not (line := self._said.get(timeout=PATIENCE)).startswith(words):
                if not line:
                    assert self.process
                    reason = f"ended with exit code {self.process.wait(PATIENCE)}"
                    raise PartFailed(f"{self.name} {reason}. {self._last_words()}")
        except queue.Empty:
            raise PartFailed(f"{self.name} did not say {words!r}. {self._last_words()}") from None
        return line.strip()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self.process
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut does, if it lives, and wait for that."""
        if self.process:
            self.died = self.process.pid
            self.process.kill()
            self.process.wait()

    def freeze(self) -> None:
        """Let no instruction of it run."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.signal(signal.SIGCONT)

    def end(self) -> int:
        """End it in order, and return its exit code."""
        assert self.process
        self.process.terminate()
        return self.ended()

    def ended(self) -> int:
        """Return its exit code, once it has ended."""
        assert self.process
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise PartFailed(f"{self.name} did not end. {self._last_words()}") from None

    def complaints(self) -> list[str]:
        """Return what it logged as an error so far, in all of its lives."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if " ERROR " in line or line.startswith("Traceback")]

    def _last_words(self) -> str:
        return f"Its last words:\n{last_lines(self.log)}"

    @staticmethod
    def _listen(process: "subprocess.Popen[str]", said: "queue.Queue[str]") -> None:
        assert process.stdout
        with process.stdout as lines:
            for line in lines:
                said.put(line)
        said.put("")


def plain_environment() -> dict[str, str]:
    """Return what a process of a test inherits: nothing of the machine's keys and settings."""
    return {"PATH": os.environ["PATH"]}
