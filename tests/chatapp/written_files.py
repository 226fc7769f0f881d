"""A database in a file, as a server has it: each thread with a connection of its own."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.db import connections


@contextmanager
def database_in(folder: Path) -> Iterator[None]:
    """Work on a copy of the test's database that lies in a file of this folder.

    PostgreSQL shows each thread what is committed, as it is.
    """
    if connections["default"].vendor == "postgresql":
        yield
        return
    memory, settings = connections["default"], connections.databases["default"]
    name, path = settings["NAME"], folder / "copy.sqlite3"
    with closing(sqlite3.connect(path)) as copy:
        memory.connection.backup(copy)
    settings["NAME"] = str(path)
    del connections["default"]
    try:
        yield
    finally:
        connections.close_all()
        settings["NAME"] = name
        connections["default"] = memory
