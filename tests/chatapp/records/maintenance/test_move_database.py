"""Moves, backups and erasures as an operator of real processes sees them."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chatapp.models import Attachment, Deletion
from chatapp.models.databases import in_use, name_of
from chatapp.project.environment import only_server_in
from tests.chatapp.records.maintenance.conftest import KINDS, Make
from tests.chatapp.records.maintenance.installation import Installation
from tests.chatapp.server_processes import serving
from tests.processes import ROOT

MEGABYTE = 2**20


def test_a_server_grows_and_shrinks_again(
    here: Installation, elsewhere: Installation, postgresql_address: str
) -> None:
    """It is moved while nothing runs on either side, and each side says how to go on."""
    there = Installation(elsewhere.data, postgresql_address)
    with only_server_in("DATA_DIR", here.data):
        refused = here.refusal("move_database", "--to", there.url)
    assert refused.startswith("Another server is running with")
    moved = here.manage("move_database", "--to", there.url)
    assert "chatapp_message: 2 rows\n" in moved
    assert moved.endswith(
        f"{here.file} is as it was, and is not used any more.\n"
        "Start with DATABASE_URL set to the address that --to gave.\n"
    )
    refused = here.refusal("move_database", "--to", there.url)
    assert refused.endswith("is not empty: there are rows in auth_user.")
    with serving(here.data, DATABASE_URL=there.url) as (server, url):
        assert url.startswith("http://")
        refused = there.refusal("move_database", "--to", "sqlite")
        assert f"is in use by process {server.pid}@" in refused
        assert not there.file.exists()
    # A queue's own tables stay where they are.
    back = there.manage("move_database", "--to", "sqlite", REDIS_URL="redis://127.0.0.1:1/0")
    assert back.endswith(f"Start without DATABASE_URL and REDIS_URL to use {there.file}.\n")
    assert "2 messages, 0 condensations: all sound" in elsewhere.run("check_integrity")
    assert there.refusal("move_database", "--to", "sqlite") == (
        f"Nothing was moved: {there.file} is there already. Move it elsewhere."
    )
    assert [*there.data.glob(f"{there.file.name}*")] == [there.file]
    password = psycopg.conninfo.conninfo_to_dict(there.url)["password"]
    assert f":{password}@" not in moved + back
    with serving(elsewhere.data) as (_server, url):
        assert url.startswith("http://")


def test_a_backup_of_a_running_server_becomes_the_same_one_elsewhere(
    here: Installation, tmp_path: Path
) -> None:
    """Also where nothing was but what the backup holds."""
    other = Installation(tmp_path / "other")
    other.data.mkdir()
    with serving(here.data):
        made = here.manage("backup", "--with-key")
    other.run("restore", made.split()[1].rstrip(":"))
    with serving(other.data) as (_server, url):
        assert url.startswith("http://")
    assert "2 messages" in other.run("check_integrity")


def test_a_server_that_starts_deletes_what_is_due(here: Installation) -> None:
    """Nobody has to do anything for it."""
    with here.entered():
        carol = User.objects.create_user("carol")
        Deletion.objects.create(user=carol, due_at=timezone.now())
        with serving(here.data):
            while User.objects.filter(username="carol").exists():
                pass
        assert User.objects.get(pk=carol.pk).username == f"deleted:{carol.pk}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_move_that_is_killed_is_begun_again(
    here: Installation, elsewhere: Installation, request: pytest.FixtureRequest, kind: str
) -> None:
    """Nothing is half there, and what it has left is no hindrance."""
    if kind == "file":
        source = request.getfixturevalue("on_postgresql")
        target, to, address = Installation(source.data), "sqlite", source.url
    else:
        to = address = request.getfixturevalue("postgresql_address")
        source, target = here, Installation(elsewhere.data, address)
    with source.start("move_database", "--to", to) as process:
        assert process.stdout
        assert process.stdout.readline().endswith(" rows\n")
        process.kill()
    with closing(psycopg.connect(address, autocommit=True)) as watcher:
        ended = "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database()"
        while watcher.execute(ended).fetchone() != (True,):
            pass
    assert kind == "postgresql" or not target.file.exists()
    source.run("move_database", "--to", to)
    assert "2 messages" in target.run("check_integrity")


# What the system counts for a process is also what began it; this is of the program alone.
PEAKS = """
import django, pathlib, sys
django.setup()
from django.conf import settings
from django.core.management import call_command
from chatapp.project.environment import database_at
from chatapp.models.databases import in_use, opened
names = sys.argv[1:]
for source, target in zip(names[::2], names[1::2]):
    there = "://" in source
    own = database_at("source", source) if there else {**settings.SQLITE, "NAME": source}
    with opened(own) as database, in_use(database):
        call_command("move_database", to=target)
    settings.DATA_DIR /= "next"
    print(pathlib.Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_larger_database_takes_no_more_memory(
    make_database: Make, tmp_path: Path, kind: str
) -> None:
    """One of 32 MB more, in rows of a megabyte, of which one or two are held at a time."""
    (tmp_path / "next").mkdir()
    addresses, password = [], ""
    for rows in (4, 36):
        is_file = kind == "file"
        source = make_database("postgresql" if is_file else "file")
        there = source if is_file else make_database("postgresql")
        with in_use(source):
            owner = User.objects.create_user("alice")
            block = {"text": "x" * MEGABYTE}
            for _ in range(rows):
                Attachment.objects.create(owner=owner, block=block, tokens=1)
        source.close()
        addresses += [name_of(source), "sqlite" if is_file else name_of(there)]
        password = str(there.settings_dict["PASSWORD"])
    done = subprocess.run(
        [sys.executable, "-c", PEAKS, *addresses],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "PGPASSWORD": password,
            "DJANGO_SETTINGS_MODULE": "chatapp.settings",
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )  # fmt: skip
    smaller, larger = (int(one) * 1024 for one in done.stdout.splitlines() if one.isdigit())
    assert larger - smaller < 16 * MEGABYTE
