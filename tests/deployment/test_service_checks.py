"""Services that can't be worked with: each is one sentence at a start, with a way out."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.checks import CheckMessage
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import override_settings

from chatapp.checks import PROBE, check_kind, check_postgresql, check_redis, refuse_unfit
from chatapp.models.database import execute, now
from chatapp.models.databases import in_use, opened
from chatapp.project.environment import BadEnvironment, database_at
from chatapp.project.postgresql.base import DatabaseWrapper
from tests.chatapp.server_processes import refusal as refusal_of_a_process
from tests.cluster.services import Postgres, Redis, free_port, tied
from tests.deployment.debian import need, running
from tests.postgresql import database as new_database

KEYS = {"SECRET_KEY": "one", "SEAL_KEY": "another"}
POOLER = """
[databases]
postgres = host=127.0.0.1 port={port} user=palimpsest password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
ignore_startup_parameters = options, extra_float_digits
"""


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys that the processes of a cluster are given."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@contextlib.contextmanager
def process_with(database: str, redis: str = "") -> Iterator[BaseDatabaseWrapper]:
    """Be a process with these services until the end of the block; yield its connection."""
    with (
        override_settings(REDIS_URL=redis, CLUSTER=bool(redis)),
        opened(database_at("DATABASE_URL", database)) as connection,
        in_use(connection),
    ):
        yield connection


def refusal(database: str, redis: str = "") -> str:
    """Return the one line that ends the start of a process with these services."""
    with process_with(database, redis), pytest.raises(BadEnvironment) as refused:
        refuse_unfit()
    (line,) = str(refused.value).splitlines()
    return line


def told(found: Iterator[CheckMessage]) -> list[str]:
    """Return what checks say, each with its way out."""
    return [f"{one.msg} {one.hint}" for one in found]


def told_of(url: str, kind: type[DatabaseWrapper] = DatabaseWrapper) -> list[str]:
    """Return what the check says of the PostgreSQL at an address."""
    options = {"TIME_ZONE": None, **database_at("DATABASE_URL", url)}
    return told(check_postgresql(kind(options, DEFAULT_DB_ALIAS)))


def test_services_as_they_should_be_raise_no_complaint(postgres: Postgres, redis: Redis) -> None:
    """What Redis was tried with is gone at once."""
    assert told_of(postgres.url) == []
    assert told(check_redis(redis.url)) == []
    with contextlib.closing(redis.connect()) as client:
        assert client.ttl(PROBE) <= 1


@pytest.mark.usefixtures("db")
def test_an_address_where_nobody_listens_ends_the_start(database_url: str, keys: None) -> None:
    """The sentence has the place, and no password."""
    port = free_port()
    there = f"secret@127.0.0.1:{port}"
    for name, said in (
        ("DATABASE_URL", refusal(f"postgresql://chat:{there}/talk")),
        ("REDIS_URL", refusal(database_url, f"redis://:{there}/0")),
    ):
        assert said.startswith(f"{name} can't be used: ")
        assert said.endswith(", or correct the address.")
        assert f"{port}" in said
        assert "onnection refused" in said
        assert "secret" not in said


@pytest.mark.usefixtures("db")
def test_a_wrong_password_ends_the_start(postgres: Postgres, redis: Redis, keys: None) -> None:
    """It is in no sentence, and a password that is not given is told like a wrong one."""
    wrong = postgres.url.replace(postgres.password.read_text(), "secret")
    assert refusal(wrong) == (
        f'DATABASE_URL can\'t be used: connection to server at "127.0.0.1", port {postgres.port} '
        'failed: FATAL:  password authentication failed for user "palimpsest". '
        "Start PostgreSQL, or correct the address."
    )
    said = (
        "REDIS_URL can't be used: it wants another user or password. "
        "Start Redis, or correct the address."
    )
    wrong = redis.url.replace(redis.password, "secret")
    assert refusal(postgres.url, wrong) == said
    assert told(check_redis(redis.url.replace(f":{redis.password}@", ""))) == [said]


@pytest.mark.usefixtures("db")
def test_a_database_that_is_not_there_ends_the_start(postgres: Postgres) -> None:
    """Nobody is asked to read a stack."""
    said = refusal(f"{postgres.url}_of_nobody")
    assert 'database "postgres_of_nobody" does not exist' in said


def test_a_database_without_its_tables_ends_the_start_of_a_cluster(
    database_url: str, redis: Redis, tmp_path: Path
) -> None:
    """One process makes them, not whoever comes first; the queue's are asked for, too."""
    urls = {"DATABASE_URL": database_url, "REDIS_URL": redis.url}
    said = refusal_of_a_process(tmp_path, **urls, **KEYS)
    assert said.startswith("The database lacks ")
    assert "chatapp, " in said
    assert "procrastinate, " in said
    assert said.endswith("). Run `manage.py migrate` once, before processes start.")


@pytest.mark.usefixtures("db")
def test_the_command_that_checks_services_names_all_that_is_wrong(
    database_url: str, keys: None
) -> None:
    """Other commands and the plain check do without the network."""
    nobody = f"redis://:secret@127.0.0.1:{free_port()}/0"
    with process_with(database_url, nobody) as connection:
        call_command("check")
        assert connection.connection is None
        with pytest.raises(SystemCheckError) as found:
            call_command("check", deploy=True, tags=["services"])
    for number in ("E013", "E015"):
        assert f"palimpsest.{number}" in str(found.value)


def test_an_old_postgresql_is_named(postgres: Postgres) -> None:
    """As Django's backend says which is new enough."""

    class Features(DatabaseWrapper.features_class):  # type: ignore[name-defined,misc]
        minimum_database_version = (999,)

    class Newer(DatabaseWrapper):
        features_class = Features

    (said,) = told_of(postgres.url, Newer)
    assert said.startswith("PostgreSQL ")
    assert said.endswith(" is too old. Use 999 or newer.")


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("encoding", "default", "said"),
    [
        ("LATIN1", "", "The database stores text as LATIN1, which lacks most letters. Name one "),
        (
            "UTF8",
            "default_transaction_isolation = serializable",
            "PostgreSQL isolates transactions as serializable, where writes that meet fail. ",
        ),
        # What is asked for in another form is no matter of the database's defaults.
        ("UTF8", "datestyle = 'German, DMY'", ""),
        ("UTF8", "standard_conforming_strings = off", ""),
    ],
)
def test_the_defaults_of_a_database_fit_or_are_named(
    encoding: str, default: str, said: str, postgres: Postgres
) -> None:
    """Dates are read and text is written whatever the operator's other programs prefer."""
    with new_database(postgres.url, encoding=encoding) as url:
        if default:
            postgres.ask(f"ALTER DATABASE {url.rpartition('/')[2]} SET {default}")
        found = told_of(url)
        with process_with(url):
            assert now().tzinfo
            assert execute("SELECT %s", "a\\n'b") == [("a\\n'b",)]
    assert len(found) == bool(said)
    assert all(one.startswith(said) for one in found)


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_pooler_has_to_keep_sessions(mode: str, postgres: Postgres) -> None:
    """One that gives each transaction another one loses what a session holds."""
    pooler, own = need("pgbouncer"), free_port()
    password = postgres.password.read_text()
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
        file.write(POOLER.format(port=postgres.port, password=password, own=own, mode=mode))
        file.flush()
        if postgres.user:
            shutil.chown(file.name, postgres.user)
        with running(own, *tied("TERM", pooler, "--quiet", file.name, user=postgres.user)):
            url = f"postgresql://palimpsest@127.0.0.1:{own}/postgres"
            found = told_of(url)
    assert len(found) == (mode == "transaction")
    for said in found:
        assert said == (
            "The pooler in front of PostgreSQL gives each transaction another session, which loses "
            "locks and notes. Have it pool by session, or name PostgreSQL itself in DATABASE_URL."
        )


@contextlib.contextmanager
def configured(redis: Redis, **options: str) -> Iterator[None]:
    """Have Redis run with other options for a while."""
    with contextlib.closing(redis.connect()) as client:
        names = {name.replace("_", "-"): value for name, value in options.items()}
        before = {name: client.config_get(name)[name] for name in names}
        for name, value in names.items():
            client.config_set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                client.config_set(name, value)


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu", "allkeys-random"])
def test_a_redis_that_removes_any_key_is_refused(policy: str, redis: Redis) -> None:
    """Even where it has room: that ends some day."""
    with configured(redis, maxmemory_policy=policy):
        (said,) = told(check_redis(redis.url))
    assert said == (
        f"Redis may remove keys that are in use: its maxmemory-policy is {policy}. "
        "Set it to noeviction, and maxmemory to 256mb or more."
    )
    with configured(redis, maxmemory_policy="volatile-ttl"):
        assert told(check_redis(redis.url)) == []


def test_a_redis_that_can_not_be_written_to_is_refused(redis: Redis) -> None:
    """It is full, or a copy of another one."""
    with configured(redis, maxmemory="1"):
        (said,) = told(check_redis(redis.url))
    assert said == (
        "Redis takes no write: command not allowed when used memory > 'maxmemory'. "
        "Name one that is no replica, has memory left, and lets this user write."
    )
    with contextlib.closing(redis.connect()) as client:
        client.replicaof("127.0.0.1", str(free_port()))
        (said,) = told(check_redis(redis.url))
        client.replicaof("NO", "ONE")
    assert "read only replica" in said
    assert told(check_redis(redis.url)) == []


def test_a_redis_whose_keys_are_on_several_machines_is_refused(tmp_path: Path) -> None:
    """What is read together has to be in one place."""
    port = free_port()
    options = ("--bind", "127.0.0.1", "--cluster-enabled", "yes", "--dir", str(tmp_path))
    with running(port, need("redis-server"), "--port", str(port), "--save", "", *options):
        (said,) = told(check_redis(f"redis://127.0.0.1:{port}"))
    assert said.startswith("Redis runs as a cluster, and not as one server that has all keys.")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"redis_version": "6.0.20"}, ["Redis 6.0.20 is too old. Use 6.2 or newer, or Valkey."]),
        ({"redis_version": "6.2.0"}, []),
        ({"redis_version": "7.2.4"}, []),
        # As Valkey says it.
        ({"redis_mode": None, "server_mode": "standalone"}, []),
        ({"redis_mode": None, "server_mode": "cluster"}, ["cluster"]),
        ({"redis_mode": "sentinel", "maxmemory_policy": None}, ["sentinel"]),
    ],
)
def test_other_servers_are_told_by_what_they_say(
    changed: dict[str, str | None], said: list[str], redis: Redis
) -> None:
    """Debian has no such ones: what this one says of itself is changed."""
    with contextlib.closing(redis.connect()) as client:
        about = {**client.info(), **changed}
    found = told(check_kind({name: one for name, one in about.items() if one is not None}))
    assert len(found) == len(said)
    assert all(part in one for part, one in zip(said, found, strict=True))


RIGHTS = "~palimpsest:* -@all +@connection +@stream +@string +@keyspace -@dangerous +info"


@pytest.mark.parametrize("taken", ["", "-xread", "-incrby", "-select", "-info", "resetkeys"])
def test_a_user_of_redis_needs_the_rights_that_are_described(taken: str, redis: Redis) -> None:
    """Without one of them no process starts, instead of hearing nothing of the others."""
    with contextlib.closing(redis.connect()) as client:
        client.execute_command(
            "ACL", "SETUSER", "few", "on", ">word", *RIGHTS.split(), *taken.split()
        )
    found = told(check_redis(f"redis://few:word@127.0.0.1:{redis.port}/1"))
    assert len(found) == bool(taken)
    assert all("ermission" in one for one in found)
