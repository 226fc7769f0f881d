"""A PostgreSQL and a Redis for the tests that are about them, whatever database the others use."""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.deployment.debian import need

if TYPE_CHECKING:
    from tests.cluster.services import Postgres, Redis

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Postgres]":
    """A PostgreSQL of this run's own."""
    need("pg_virtualenv", "postgresql")
    from tests.cluster.services import Postgres  # noqa: PLC0415 - imports what may not be there

    server = Postgres(tmp_path_factory.mktemp("postgres") / "data", durable=False)
    server.start()
    yield server
    server.stop()
    server.remove()


@pytest.fixture
def database_url(postgres: "Postgres") -> str:
    """The address of an empty database."""
    name = f"empty{next(_numbers)}"
    postgres.ask(f"CREATE DATABASE {name}")
    return f"{postgres.url.rpartition('/')[0]}/{name}"


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Redis]":
    """A Redis of this run's own."""
    need("redis-server")
    from tests.cluster.services import Redis  # noqa: PLC0415 - imports what may not be there

    server = Redis(tmp_path_factory.mktemp("redis") / "data")
    server.start()
    yield server
    server.kill()
