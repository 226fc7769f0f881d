"""A process's own connections, where PostgreSQL was away for longer than a pool tries by itself."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import ConnectionHandler
from psycopg_pool import ConnectionPool
from pytest_django import DjangoDbBlocker

from chatapp.project.environment import read_database
from chatapp.project.postgresql import base
from tests.cluster.services import PATIENCE, Postgres


@pytest.fixture
def postgres(tmp_path: Path, installed: None) -> Iterator[Postgres]:
    """A PostgreSQL of the test's own."""
    postgres = Postgres(tmp_path / "postgres", durable=False)
    postgres.start()
    yield postgres
    postgres.kill()
    postgres.remove()


def test_who_waits_for_a_connection_gets_one_as_soon_as_there_is_a_server(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, django_db_blocker: DjangoDbBlocker
) -> None:
    """Also where nobody else asks for one meanwhile, and the pool had given up."""
    monkeypatch.setenv("DATABASE_URL", postgres.url)
    databases = ConnectionHandler({"default": read_database("DATABASE_URL", {})})
    given_up = threading.Event()

    def note(pool: "ConnectionPool") -> None:
        given_up.set()
        connect_anew(pool)

    connect_anew = base.connect_anew
    monkeypatch.setattr(base, "connect_anew", note)

    def ask() -> object:
        with databases["default"].cursor() as cursor:
            cursor.execute("SELECT 1")
            return cursor.fetchone()

    with django_db_blocker.unblock(), ThreadPoolExecutor(1) as threads:
        with postgres.away():
            asked = threads.submit(ask)
            assert given_up.wait(PATIENCE)
        assert asked.result(PATIENCE) == (1,)
        threads.submit(databases.close_all).result(PATIENCE)
        databases["default"].close_pool()
