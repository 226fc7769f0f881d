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
from typing import Any

import pytest
from django.test import override_settings

from chatapp.models.databases import in_use, opened
from chatapp.operations.processes import FILES, LEFT, joined
from chatapp.project.environment import BadEnvironment, database_at
from tests.chatapp.server_processes import serving
from tests.cluster.services import Postgres, Redis
from tests.first_start import FirstStart
from tests.processes import ROOT

# They use databases of their own.
pytestmark = pytest.mark.django_db

JOINED = "joined"
# It looks often whether it still holds the lock.
JOIN = """
import sys, django
django.setup()
from chatapp.operations import processes
processes.INTERVAL = 0.1
with processes.joined("worker") as heartbeat:
    heartbeat.begin()
    print("joined", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def joining(folder: Path, url: str, **given: Any) -> Iterator[str]:
    """Be one more process on a database until the end of the block; yield what it is told."""
    folder.mkdir(exist_ok=True)
    alone = {"CLUSTER": False, "DATA_DIR": folder, "WORKSPACES_ROOT": folder / "work"}
    with (
        override_settings(**alone | given),
        opened(database_at("url", url)) as database,
        in_use(database),
        contextlib.ExitStack() as stack,
    ):
        said = JOINED
        try:
            stack.enter_context(joined("worker"))
        except BadEnvironment as problem:
            said = str(problem)
        yield said


@pytest.fixture
def process(database_url: str, tmp_path: Path) -> "Iterator[subprocess.Popen[str]]":
    """A process without Redis that has joined, and a folder of its own."""
    given = {"DJANGO_SETTINGS_MODULE": "chatapp.settings", "DATA_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", JOIN],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATABASE_URL": database_url, **given},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == f"{JOINED}\n"
        yield process


@pytest.fixture
def cluster() -> dict[str, Any]:
    """The settings of each process of a cluster."""
    return {"CLUSTER": True, "SECRET_KEY": "one", "SEAL_KEY": "another"}


def test_a_second_server_without_redis_is_refused_on_any_machine(
    process: "subprocess.Popen[str]", database_url: str, tmp_path: Path
) -> None:
    """Each has a folder of its own: the database tells them of each other, until one is gone."""
    with joining(tmp_path / "b", database_url) as said:
        pass
    assert said.startswith("A worker process on ")
    assert said.endswith(
        " works on this database already. Stop it, or set REDIS_URL for both, by which several "
        "tell each other what happens."
    )
    process.kill()
    process.wait()
    while said != JOINED:
        with joining(tmp_path / "b", database_url) as said:
            pass


def test_a_server_without_redis_and_a_cluster_refuse_each_other(
    database_url: str, cluster: dict[str, Any], tmp_path: Path
) -> None:
    """Neither would hear from the other."""
    own, shared = tmp_path / "a", tmp_path / "b"
    with joining(own, database_url), joining(shared, database_url, **cluster) as said:
        assert "works on this database without REDIS_URL. Stop it, or set that there too." in said
    with joining(shared, database_url, **cluster), joining(own, database_url) as said:
        assert "works on this database already." in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("DATA_DIR", "DATA_DIR {} lacks the file that the worker process on "),
        ("WORKSPACES_ROOT", "WORKSPACES_ROOT {} lacks the file that the worker process on "),
        ("SECRET_KEY", "has another SECRET_KEY. Give all processes the same."),
        ("SEAL_KEY", "has another SEAL_KEY. Give all processes the same."),
    ],
)
def test_processes_of_a_cluster_share_folders_and_keys(
    name: str, said: str, cluster: dict[str, Any], database_url: str, tmp_path: Path
) -> None:
    """One that has something of its own is refused, and told which; the others go on."""
    folder, other = tmp_path / "data", tmp_path / "other"
    other.mkdir()
    wrong: Any = str(other) if name.endswith("KEY") else other
    with (
        joining(folder, database_url, **cluster) as one,
        joining(folder, database_url, **cluster) as two,
        joining(folder, database_url, **cluster | {name: wrong}) as three,
    ):
        assert (one, two) == (JOINED, JOINED)
        assert said.format(other) in three


def test_a_copy_of_a_folder_is_none_that_is_shared(
    cluster: dict[str, Any], database_url: str, tmp_path: Path
) -> None:
    """A process that began after it was made has left no file in it."""
    data, copy = tmp_path / "data", tmp_path / "copy"
    with joining(data, database_url, **cluster):
        pass
    shutil.copytree(data, copy)
    with (
        joining(data, database_url, **cluster),
        joining(copy, database_url, **cluster) as said,
    ):
        assert said.startswith(f"DATA_DIR {copy} lacks the file")


def test_what_a_killed_process_left_goes_after_a_day(
    cluster: dict[str, Any], database_url: str, tmp_path: Path
) -> None:
    """Not sooner: one that just begins is not known to the others yet."""
    with joining(tmp_path / "data", database_url, **cluster):
        (file,) = (tmp_path / "data" / FILES).iterdir()
        signed = file.read_text()
    old, new = file, file.with_name("new")
    for left in (old, new):
        left.write_text(signed)
    long_ago = time.time() - LEFT - 1
    os.utime(old, (long_ago, long_ago))
    with joining(tmp_path / "data", database_url, **cluster):
        assert old not in [*file.parent.iterdir()]
    assert [*file.parent.iterdir()] == [new]


def test_a_process_is_known_again_after_postgresql_was_restarted(
    process: "subprocess.Popen[str]", database_url: str, postgres: Postgres, tmp_path: Path
) -> None:
    """The lock is lost with the connection, and taken in a new one; the log has both."""
    postgres.restart()
    assert process.stdout
    assert "the database can't be reached, and is tried again" in process.stdout.readline()
    assert "the database can be reached again" in process.stdout.readline()
    assert postgres.ask("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")
    with joining(tmp_path / "b", database_url) as said:
        assert "works on this database already" in said


def test_servers_of_a_cluster_run_beside_each_other(
    database_url: str, redis: Redis, first_start: FirstStart, tmp_path: Path
) -> None:
    """On one folder, once the database was made; both answer."""
    urls = {"DATABASE_URL": database_url, "REDIS_URL": redis.url}
    given = urls | {"SECRET_KEY": "one", "SEAL_KEY": "another"}
    data = first_start.copy(tmp_path)
    own = {"PATH": os.environ["PATH"], "DATA_DIR": str(data)}
    command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    subprocess.run(command, cwd=ROOT, env=own | given, check=True)
    with serving(data, **given) as (_one, first), serving(data, **given) as (_two, second):
        for link in (first, second):
            origin = link.partition("/sign-in/")[0]
            with urllib.request.urlopen(f"{origin}/healthz") as page:
                assert page.read() == b"ok"
