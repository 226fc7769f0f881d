"""``make cluster``: everything it starts ends with it, and a part that fails is named."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.nodes import plain_environment
from tests.cluster.services import PATIENCE, Postgres
from tests.processes import ROOT

# What every process of one run has in its environment.
MARK = "CLUSTER_TEST"


@pytest.fixture
def folder(tmp_path: Path, installed: None) -> Iterator[Path]:
    """A folder for all it stores."""
    yield tmp_path
    Postgres(tmp_path / "postgres", durable=False).remove()


def start(folder: Path, **environment: str) -> tuple["subprocess.Popen[str]", str]:
    """Start it; return its process, and what its processes are known by."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster", str(folder)],
        cwd=ROOT,
        env={**plain_environment(), MARK: mark, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return process, mark


def living(mark: str) -> list[str]:
    """Return the commands of all processes that a run has left."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def test_it_prints_a_link_and_ctrl_c_ends_all_of_it(folder: Path) -> None:
    """It says where each web process is, how to end one and where the data stay.

    Nothing outlives it, and no error was logged.
    """
    process, mark = start(folder)
    with process:
        assert process.stdout
        try:
            link = process.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/sign-in/[^/]+/", link), process.stderr
            parts = [process.stdout.readline() for _ in range(4)]
            assert [part.partition(":")[0] for part in parts] == [
                *("web 1", "web 2", "worker 1", "worker 2")
            ]
            webs = [part.split()[2].rstrip(",") for part in parts[:2]]
            assert "kill PROCESS" in process.stdout.readline()
            assert f"stay in {folder}. Ctrl+C" in process.stdout.readline()
            commands = " ".join(living(mark))
            assert [commands.count(one) for one in ("manage.py serve", "manage.py work")] == [2, 2]
            for address in (link, *(f"{web}/healthz" for web in webs)):
                with urllib.request.urlopen(address) as page:
                    assert page.status == 200
            process.send_signal(signal.SIGINT)
            _rest, complaints = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, complaints) == (0, "")
    assert living(mark) == []
    logs = {log.name: log.read_text() for log in folder.glob("w*.log")}
    assert len(logs) == 4
    assert not [name for name, said in logs.items() if "Traceback" in said or " ERROR " in said]


def test_a_part_that_does_not_start_is_named_and_ends_the_rest(folder: Path) -> None:
    """With what it said last."""
    process, mark = start(folder, SAFE_POINT="soon")
    said, complaints = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (1, "")
    assert complaints.startswith("manage.py migrate failed:\n")
    assert "SAFE_POINT must be a whole number" in complaints
    assert "Traceback" not in complaints
    assert living(mark) == []


def test_a_server_that_someone_else_runs_is_left_alone(folder: Path) -> None:
    """It takes ports of its own, whatever listens at the usual ones."""
    one, other = (Postgres(folder / name, durable=False) for name in ("one", "other"))
    one.start()
    try:
        other.start()
        other.stop()
        assert one.ask("SELECT 1") == [(1,)]
        assert os.getpgid(one.process.pid if one.process else 0) != os.getpgid(0)
    finally:
        other.kill()
        one.stop()
        one.remove()
        other.remove()
