"""A process's own connections: kept, given back, cut by an outage, limited by operators."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import ConnectionHandler
from psycopg_pool import ConnectionPool
from pytest_django import DjangoDbBlocker

from chatapp.models.errors import Refused, saving
from chatapp.project.environment import read_database
from chatapp.project.postgresql import base
from tests.cluster.services import PATIENCE, Postgres


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory, installed: None) -> Iterator[Postgres]:
    """A PostgreSQL of these tests' own."""
    postgres = Postgres(tmp_path_factory.mktemp("connections") / "postgres", durable=False)
    postgres.start()
    yield postgres
    postgres.kill()
    postgres.remove()


@pytest.fixture
def databases(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, django_db_blocker: DjangoDbBlocker
) -> Iterator[ConnectionHandler]:
    """The connections of a process to it, out of a pool."""
    monkeypatch.setenv("DATABASE_URL", postgres.url)
    databases = ConnectionHandler({"default": read_database("DATABASE_URL", {})})
    with django_db_blocker.unblock():
        yield databases
        databases.close_all()
        databases["default"].close_pool()


def test_a_connection_is_given_back_after_a_while_without_use(databases: ConnectionHandler) -> None:
    """Others may have it then, or nobody."""
    own: Any = databases["default"]
    own.cursor().execute("SELECT 1")
    own.close_if_idle()
    assert own.connection
    own.cursor().execute("SELECT 1")
    own.close_if_idle()
    assert own.connection
    own.close_if_idle()
    assert own.connection is None


LIMITS = {"57014": "takes long", "25P03": "takes long", "25P04": "takes long"}
FORBIDDEN = {"25006": "takes no changes now", "42501": "log says why"}


@pytest.mark.parametrize(("state", "told"), [*LIMITS.items(), *FORBIDDEN.items()])
def test_a_limit_of_the_operators_refuses_with_its_reason(
    databases: ConnectionHandler, state: str, told: str
) -> None:
    """Also one on transactions, and a right that is lacking: a turn tries these again."""
    with pytest.raises(Refused, match=told), saving(), databases["default"].cursor() as cursor:
        cursor.execute(f"DO $$ BEGIN RAISE '' USING ERRCODE = '{state}'; END $$")


def test_who_waits_for_a_connection_gets_one_as_soon_as_there_is_a_server(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, databases: ConnectionHandler
) -> None:
    """Also where nobody else asks for one meanwhile, and the pool had given up."""
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

    with ThreadPoolExecutor(1) as threads:
        with postgres.away():
            asked = threads.submit(ask)
            assert given_up.wait(PATIENCE)
        assert asked.result(PATIENCE) == (1,)
        threads.submit(databases.close_all).result(PATIENCE)
