"""Worker processes: what they are asked, and an end in the middle of it."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from condense import WorkerProcess

# Answers each line with itself, but stays with one that asks for that, and says so.
SCRIPT = """
import signal, sys
for line in sys.stdin:
    if line == "stay\\n":
        open(sys.argv[1], "w").close()
        signal.pause()
    print(line, end="", flush=True)
"""


@pytest.mark.parametrize("is_fresh", [False, True])
def test_a_request_that_is_interrupted_fails_at_once(tmp_path: Path, is_fresh: bool) -> None:
    """Nobody starts another worker for it, but for the next one."""
    (script := tmp_path / "worker.py").write_text(SCRIPT)
    os.mkfifo(begun := tmp_path / "begun")
    worker = WorkerProcess(script, str(begun), seconds=600)
    if not is_fresh:
        assert worker.ask(b"1\n") == b"1\n"
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(worker.ask, b"stay\n")
        # Opened by both ends at the same time.
        begun.open().close()
        worker.interrupt()
        assert isinstance(asked.exception(), ChildProcessError)
    assert worker.ask(b"2\n") == b"2\n"
    worker.close()
