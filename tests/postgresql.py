"""A server of PostgreSQL beside the tests' own database, and databases on it for one test each."""

import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from django.db import connection

ROOT = Path(__file__).parents[1]


def is_installed() -> bool:
    """Whether there is one already, or what makes one."""
    return connection.vendor == "postgresql" or shutil.which("pg_virtualenv") is not None


@contextmanager
def server() -> Iterator[str]:
    """Yield the address of a database on a server: the tests' own, or one that ends afterwards."""
    if connection.vendor == "postgresql":
        own = connection.settings_dict
        user = f"{own['USER']}:{own['PASSWORD']}"
        yield f"postgresql://{user}@{own['HOST']}:{own['PORT'] or 5432}/postgres"
        return
    with subprocess.Popen(
        [ROOT / ".ci" / "postgres", "sh", "-c", "echo $DATABASE_URL; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        yield next(line for line in process.stdout if line.startswith("postgresql://")).strip()
        # The command that it is made for ends with its input.
        process.communicate()


@contextmanager
def database(address: str, *, encoding: str = "UTF8", template: str = "template0") -> Iterator[str]:
    """Yield the address of a new database on the server of another one, like a ``template``."""
    name = f"palimpsest_{uuid.uuid4().hex}"
    make(address, name, f"ENCODING '{encoding}' LOCALE 'C' TEMPLATE {template}")
    try:
        yield urlsplit(address)._replace(path=f"/{name}").geturl()
    finally:
        _run(address, f"DROP DATABASE {name} WITH (FORCE)")


def make(address: str, name: str, like: str = "") -> None:
    """Make a database of this name on the server of another one."""
    _run(address, f"CREATE DATABASE {name} {like}")


def _run(address: str, statement: str) -> None:
    there = urlsplit(address)._replace(path="/postgres").geturl()
    with closing(psycopg.connect(there, autocommit=True)) as connected:
        connected.execute(statement)
