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


@pytest.mark.parametrize(
    ("source", "ended"),
    [("import signal; signal.pause()", TimeoutError), ("print('ha', end='')", ChildProcessError)],
    ids=["one that reads nothing", "one that ends within its answer"],
)
def test_a_worker_that_does_not_answer_is_given_up(
    tmp_path: Path, source: str, ended: type[Exception]
) -> None:
    """Also where a request is larger than what a pipe holds, and half an answer is none."""
    (script := tmp_path / "worker.py").write_text(source)
    worker = WorkerProcess(script, seconds=0.2 if ended is TimeoutError else 600)
    with pytest.raises(ended):
        worker.ask(b"x" * 1_000_000 if ended is TimeoutError else b"x")
    worker.close()


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
