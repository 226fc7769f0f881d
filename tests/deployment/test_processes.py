"""Processes that share a database: how many there may be, and what all of them have to share."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatapp.processes import FILES, LEFT
from tests.chatapp.server_processes import refusal, serving
from tests.cluster.services import Postgres, Redis
from tests.processes import ROOT

JOIN = """
import sys, django
django.setup()
from chatapp.environment import BadEnvironment
from chatapp.processes import joined
try:
    with joined("worker"):
        print("joined", flush=True)
        sys.stdin.read()
except BadEnvironment as problem:
    print(problem, flush=True)
"""


@contextlib.contextmanager
def joining(data: Path, **environment: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run a process that joins the others until the end of the block; yield what it says."""
    data.mkdir(exist_ok=True)
    own = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "chatapp.settings"}
    with subprocess.Popen(
        [sys.executable, "-c", JOIN],
        cwd=ROOT,
        env=own | {"DATA_DIR": str(data)} | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout
        yield process.stdout.readline().strip(), process


@pytest.fixture
def alone(database_url: str) -> dict[str, str]:
    """What a process without Redis is given."""
    return {"DATABASE_URL": database_url}


@pytest.fixture
def cluster(database_url: str, redis: Redis) -> dict[str, str]:
    """What each process of a cluster is given."""
    keys = {"SECRET_KEY": "one", "SEAL_KEY": "another"}
    return {"DATABASE_URL": database_url, "REDIS_URL": redis.url, **keys}


def test_a_second_server_without_redis_is_refused_on_any_machine(
    alone: dict[str, str], tmp_path: Path
) -> None:
    """Each has a folder of its own: the database tells them of each other, until one is gone."""
    with joining(tmp_path / "a", **alone) as (said, process):
        assert said == "joined"
        sentence = refusal(tmp_path / "b", **alone)
        process.kill()
    assert sentence.startswith("A worker process on ")
    assert sentence.endswith(
        " works on this database already. Stop it, or set REDIS_URL for both, by which several "
        "tell each other what happens."
    )
    with joining(tmp_path / "b", **alone) as (said, _process):
        assert said == "joined"


def test_a_server_without_redis_and_a_cluster_refuse_each_other(
    alone: dict[str, str], cluster: dict[str, str], tmp_path: Path
) -> None:
    """Neither would hear from the other."""
    with joining(tmp_path / "a", **alone), joining(tmp_path / "b", **cluster) as (said, _process):
        assert "works on this database without REDIS_URL. Stop it, or set that there too." in said
    with joining(tmp_path / "b", **cluster), joining(tmp_path / "a", **alone) as (said, _process):
        assert "works on this database already." in said


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("DATA_DIR", "DATA_DIR {} lacks the file that the worker process on "),
        ("WORKSPACES_ROOT", "WORKSPACES_ROOT {} lacks the file that the worker process on "),
        ("SECRET_KEY", "has another SECRET_KEY. Give all processes the same."),
        ("SEAL_KEY", "has another SEAL_KEY. Give all processes the same."),
    ],
)
def test_processes_of_a_cluster_share_folders_and_keys(
    variable: str, said: str, cluster: dict[str, str], tmp_path: Path
) -> None:
    """One that has something of its own is refused, and told which; the others go on."""
    shared = {"DATA_DIR": str(tmp_path / "data"), "WORKSPACES_ROOT": str(tmp_path / "work")}
    first, other = cluster | shared, tmp_path / "other"
    other.mkdir()
    with joining(tmp_path / "data", **first) as (one, _one):
        with joining(tmp_path / "data", **first) as (two, _two):
            assert (one, two) == ("joined", "joined")
        with joining(tmp_path, **first | {variable: str(other)}) as (three, _three):
            assert said.format(other) in three


def test_a_copy_of_a_folder_is_none_that_is_shared(cluster: dict[str, str], tmp_path: Path) -> None:
    """A process that began after it was made has left no file in it."""
    with joining(tmp_path / "data", **cluster):
        pass
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    with joining(tmp_path / "data", **cluster), joining(tmp_path / "copy", **cluster) as (said, _):
        assert said.startswith(f"DATA_DIR {tmp_path / 'copy'} lacks the file")


def test_what_a_killed_process_left_goes_after_a_day(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    """Not sooner: one that just begins is not known to the others yet."""
    files = tmp_path / "data" / FILES
    for _ in range(2):
        with joining(tmp_path / "data", **cluster) as (_said, process):
            process.kill()
    old, new = files.iterdir()
    long_ago = time.time() - LEFT - 1
    os.utime(old, (long_ago, long_ago))
    with joining(tmp_path / "data", **cluster):
        assert old not in [*files.iterdir()]
    assert [*files.iterdir()] == [new]


def test_a_process_is_known_again_after_postgresql_was_restarted(
    alone: dict[str, str], postgres: Postgres, tmp_path: Path
) -> None:
    """The lock is lost with the connection, and taken in a new one; the log has both."""
    with joining(tmp_path / "a", **alone) as (_said, process):
        postgres.restart()
        assert process.stdout
        assert "PostgreSQL can't be reached, and is tried again" in process.stdout.readline()
        assert "PostgreSQL can be reached again" in process.stdout.readline()
        assert postgres.ask("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")
        with joining(tmp_path / "b", **alone) as (said, _process):
            assert "works on this database already" in said


def test_servers_of_a_cluster_run_beside_each_other(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    """On one folder, once the database was made; both answer."""
    own = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    subprocess.run(command, cwd=ROOT, env=own | cluster, check=True)
    with serving(tmp_path, **cluster) as (_one, first), serving(tmp_path, **cluster) as (_, second):
        for link in (first, second):
            origin = link.partition("/sign-in/")[0]
            with urllib.request.urlopen(f"{origin}/healthz") as page:
                assert page.read() == b"ok"
