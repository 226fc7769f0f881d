"""Disks that fail: full, not to be written, or broken for one table."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from asgiref.sync import sync_to_async
from django.db import connection

from chatapp.storage import partial_replies
from tests.standin.behaviours import Gate

READ_ONLY = {  # as on a broken disk
    "sqlite": "PRAGMA query_only = {}",
    "postgresql": "SET default_transaction_read_only = {}",
}[connection.vendor]
# A server of PostgreSQL's may be a standby that is not promoted yet.
WHY = {
    "sqlite": "It may not write its database.",
    "postgresql": "Its database takes no changes now.",
}[connection.vendor]
FULL = 1_073_741_823  # SQLite's own limit of pages, which is none in practice


def fill_disk() -> None:
    """Let the database grow no further, as on a full disk."""
    with connection.cursor() as cursor:
        # What was given back can be written to again: nothing may be left of it.
        cursor.execute(
            "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size"
        )
        cursor.execute("CREATE TABLE filler AS SELECT zeroblob(%s) AS room", cursor.fetchone())
        cursor.execute("PRAGMA page_count")
        (pages,) = cursor.fetchone()
    limit_pages(pages)
    partial_replies.THREAD.submit(limit_pages, pages).result()


def free_disk() -> None:
    """Let the database grow again."""
    limit_pages(FULL)
    partial_replies.THREAD.submit(limit_pages, FULL).result()
    execute("DROP TABLE filler")


def limit_pages(pages: int) -> None:
    """Let this thread's connection make the database no larger."""
    execute(f"PRAGMA max_page_count = {pages}")


def execute(sql: str) -> None:
    """Have the database do something."""
    with connection.cursor() as cursor:
        cursor.execute(sql)


@asynccontextmanager
async def full_disk(gate: Gate) -> AsyncIterator[None]:
    """Let nothing more be stored meanwhile, from before the rest of an answer comes."""
    await sync_to_async(fill_disk)()
    gate.open()
    try:
        yield
    finally:
        await sync_to_async(free_disk)()


@asynccontextmanager
async def broken(
    writes: str, when: str = "", *, for_good: bool = False, name: str = "broken"
) -> AsyncIterator[None]:
    """Let ``writes``, such as "UPDATE ON chatapp_turn", fail as a disk has them fail.

    Only those ``when`` something holds of the row, if that is given. What fails ``for_good`` is not
    tried again. Two at once have a ``name`` each.
    """
    which = f"BEFORE {writes} FOR EACH ROW" + (f" WHEN ({when})" if when else "")
    fails = "SELECT RAISE(ABORT, 'disk I/O error')" if for_good else "SELECT json('a broken disk')"
    trigger = f"CREATE TRIGGER {name} {which} BEGIN {fails}; END"
    repair = f"DROP TRIGGER {name}"
    if connection.vendor == "postgresql":
        trigger = f"""
            CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE '' USING ERRCODE = '{"23514" if for_good else "58030"}'; END $$;
            CREATE TRIGGER {name} {which} EXECUTE FUNCTION {name}()
        """
        repair = f"DROP FUNCTION {name} CASCADE"
    await sync_to_async(execute)(trigger)
    try:
        yield
    finally:
        await sync_to_async(execute)(repair)
