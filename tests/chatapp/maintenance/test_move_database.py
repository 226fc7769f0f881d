"""`manage.py move_database` as an operator runs it."""

import json
import os
import secrets
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.contrib.auth.models import User

from chatapp.models import Attachment
from chatapp.models.databases import in_use, name_of
from tests.chatapp.maintenance.conftest import KINDS, Make
from tests.chatapp.maintenance.test_commands import manage
from tests.chatapp.server_processes import serving
from tests.first_start import FirstStart
from tests.processes import ROOT

FILE = "palimpsest.sqlite3"
MEGABYTE = 2**20


@pytest.fixture
def data(tmp_path: Path, first_start: FirstStart) -> Path:
    """The folder of a server with one conversation."""
    session = first_start.copy(tmp_path / "data") / "session.json"
    said = (("user", "Where is north?"), ("assistant", "Up."))
    session.write_text(json.dumps([{"role": role, "content": text} for role, text in said]))
    assert manage(session.parent, "import_transcript", str(session)).returncode == 0
    return session.parent


@pytest.fixture
def elsewhere(tmp_path: Path, data: Path) -> Path:
    """A folder without a database, as another machine has it, with the same key."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "secret-key").write_text((data / "secret-key").read_text())
    return folder


def refusal(data: Path, to: str, **environment: str) -> str:
    """Return the one line that says why nothing is moved."""
    done = manage(data, "move_database", "--to", to, **environment)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.strip()


def test_a_server_grows_and_shrinks_again(
    data: Path, elsewhere: Path, postgresql_address: str
) -> None:
    """It is moved while nothing runs on either side, and each side says how to go on."""
    there = {"DATABASE_URL": postgresql_address}
    with serving(data):
        assert refusal(data, postgresql_address).startswith("Another server is running with")
    moved = manage(data, "move_database", "--to", postgresql_address)
    assert (moved.returncode, moved.stderr) == (0, "")
    assert "chatapp_message: 2 rows\n" in moved.stdout
    assert moved.stdout.endswith(
        f"{data / FILE} is as it was, and is not used any more.\n"
        "Start with DATABASE_URL set to the address that --to gave.\n"
    )
    assert refusal(data, postgresql_address).endswith("is not empty: there are rows in auth_user.")
    with serving(data, **there) as (server, url):
        assert url.startswith("http://")
        assert f"is in use by process {server.pid}@" in refusal(elsewhere, "sqlite", **there)
        assert not (elsewhere / FILE).exists()
    # A queue's own tables stay where they are.
    cluster = {**there, "REDIS_URL": "redis://127.0.0.1:1/0"}
    back = manage(elsewhere, "move_database", "--to", "sqlite", **cluster)
    assert (back.returncode, back.stderr) == (0, "")
    assert back.stdout.endswith(
        f"Start without DATABASE_URL and REDIS_URL to use {elsewhere / FILE}.\n"
    )
    assert "2 messages, 0 condensations: all sound" in manage(elsewhere, "check_integrity").stdout
    assert refusal(elsewhere, "sqlite", **there) == (
        f"CommandError: Nothing was moved: {elsewhere / FILE} is there already. Move it elsewhere."
    )
    assert [one.name for one in elsewhere.glob(f"{FILE}*")] == [FILE]
    password = psycopg.conninfo.conninfo_to_dict(postgresql_address)["password"]
    assert f":{password}@" not in moved.stdout + back.stdout
    with serving(elsewhere) as (_server, url):
        assert url.startswith("http://")


def test_what_can_not_be_a_target_is_said_in_one_line(data: Path, postgresql_address: str) -> None:
    """A wrong address, a server that is not there, a database that was never made."""
    wrong = refusal(data, "mysql://somewhere")
    assert wrong.startswith("--to must be an address such as postgresql://user:password@host/")
    assert len(wrong.splitlines()) == 1
    for address in ("postgresql://127.0.0.1:1/none", f"{postgresql_address}_none"):
        assert refusal(data, address).startswith("CommandError: Nothing was moved: connection ")
    assert "is there already" in refusal(data, "sqlite")


@pytest.mark.parametrize("kind", KINDS)
def test_a_move_that_is_killed_is_begun_again(
    data: Path, elsewhere: Path, postgresql_address: str, kind: str
) -> None:
    """Nothing is half there, and what it has left is no hindrance."""
    here, there = {}, {"DATABASE_URL": postgresql_address}
    if kind == "file":
        assert manage(data, "move_database", "--to", postgresql_address).returncode == 0
        data, here, there = elsewhere, there, here
    command = ["manage.py", "move_database", "--to", there.get("DATABASE_URL", "sqlite")]
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(data), **here},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline().endswith(" rows\n")
        process.kill()
    with closing(psycopg.connect(postgresql_address, autocommit=True)) as watcher:
        ended = "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database()"
        while watcher.execute(ended).fetchone() != (True,):
            pass
    assert kind == "postgresql" or not (data / FILE).exists()
    again = manage(data, *command[1:], **here)
    assert (again.returncode, again.stderr) == (0, "")
    assert "2 messages" in manage(data, "check_integrity", **there).stdout


# What the system counts for a process is also what began it; this is of the program alone.
WITH_PEAK = """
import manage, pathlib
manage.main()
print(pathlib.Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


def peak(*words: str, **environment: str) -> int:
    """Return how much memory a command of manage.py takes at most, in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", WITH_PEAK, *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(done.stdout.split()[-1]) * 1024


@pytest.mark.parametrize("kind", KINDS)
def test_a_larger_database_takes_no_more_memory(
    make_database: Make, tmp_path: Path, kind: str
) -> None:
    """One of 64 MB more, in rows of a megabyte, of which one or two are held at a time."""
    taken = []
    for rows in (4, 68):
        source = make_database("file" if kind == "postgresql" else "postgresql")
        with in_use(source):
            owner = User.objects.create_user("alice")
            for _ in range(rows):
                text = secrets.token_hex(MEGABYTE // 2)
                Attachment.objects.create(owner=owner, block={"text": text}, tokens=1)
        source.close()
        folder = tmp_path / str(rows)
        folder.mkdir()
        if kind == "postgresql":
            Path(name_of(source)).rename(folder / FILE)
            there, of_it = make_database(kind), {}
            to = name_of(there)
        else:
            there, to, of_it = source, "sqlite", {"DATABASE_URL": name_of(source)}
        password = {"PGPASSWORD": str(there.settings_dict["PASSWORD"])}
        taken.append(peak("move_database", "--to", to, DATA_DIR=str(folder), **of_it, **password))
    assert taken[1] - taken[0] < 16 * MEGABYTE
