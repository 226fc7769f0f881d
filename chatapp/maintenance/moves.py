"""Moves: one database's rows put into another in one transaction, and compared before its end."""

from collections.abc import Iterator

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from chatapp.environment import APPLICATION, PROCESS
from chatapp.errors import NotCopied
from chatapp.maintenance import audit_check, row_copy
from chatapp.maintenance.row_copy import Copied, Say
from chatapp.models import Conversation, Manifest
from chatapp.models.database import execute, is_shared
from chatapp.models.databases import in_use, name_of, snapshot, tables
from chatapp.storage.request_reader import find_changed

# Of one kind of problem, so many places are named.
NAMED = 5

_OTHERS = """
    SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database()
    AND application_name LIKE %s AND application_name <> %s ORDER BY 1
"""


def check_unused(database: BaseDatabaseWrapper) -> None:
    """Raise NotCopied where another process of this software is connected to a database.

    Of a file nobody knows; who serves from one locks the folder that it lies in.
    """
    with in_use(database):
        others = execute(_OTHERS, f"{APPLICATION} %", PROCESS) if is_shared() else []
    if others:
        names = ", ".join([name.removeprefix(f"{APPLICATION} ") for (name,) in others])
        raise NotCopied(
            f"{name_of(database)} is in use by process {names}. Stop all servers, workers and "
            "commands first."
        )


def check_fit(database: BaseDatabaseWrapper) -> None:
    """Raise NotCopied where a database can't hold every letter, or holds something already."""
    with in_use(database):
        found = execute("SHOW server_encoding")[0][0] if is_shared() else "UTF8"
        if found != "UTF8":
            raise NotCopied(
                f"{name_of(database)} stores text as {found}, which lacks most letters. Name one "
                "that was made with ENCODING 'UTF8' TEMPLATE template0."
            )
        row_copy.migrate()
        if table := row_copy.first_found():
            raise NotCopied(f"{name_of(database)} is not empty: there are rows in {table.name}.")


def move(
    source: BaseDatabaseWrapper, target: BaseDatabaseWrapper, say: Say, *, replace: bool = False
) -> None:
    """Put all rows of one database into another, and say what came of it.

    Raises NotCopied or DatabaseError where it fails; the target is as it was then.
    """
    with in_use(source), snapshot():
        try:
            source.check_constraints()
        except IntegrityError as error:
            raise NotCopied(f"{name_of(source)} is damaged: {error}") from error
        with in_use(target), transaction.atomic():
            copied = row_copy.copy_rows(source, target, say, replace=replace)
            target.check_constraints()
            _compare(source, copied, say)
            # Who began meanwhile has written what is not in the copy.
            check_unused(source)
            check_unused(target)


def _compare(source: BaseDatabaseWrapper, copied: Copied, say: Say) -> None:
    """Say what the copy in use has in common; raise NotCopied where it is another."""
    for table in tables():
        with in_use(source):
            number = table.count()
        if not number == table.count() == copied.rows[table.name]:
            raise NotCopied(f"Not all {number:,} rows of {table.name} are in the copy.")
    filled = sum(1 for one in copied.rows.values() if one)
    say(f"{sum(copied.rows.values()):,} rows in {filled} tables: as many as before.")
    for name, number in copied.mended.items():
        say(f"{name}: {number:,} values were changed, which the new database has no place for.")
    sentences = {
        "requests can be shown as they were sent": _changed_requests,
        "audit chains hold": _broken_chains,
    }
    for sentence, find in sentences.items():
        found = dict(find())
        known = {}
        if found:
            with in_use(source):
                known = dict(find())
        if news := found.keys() - known.keys():
            said = "; ".join([found[one] for one in sorted(news, key=str)[:NAMED]])
            raise NotCopied(f"Not all {sentence} in the copy: {said}.")
        total = (Manifest if find is _changed_requests else Conversation).objects.count()
        but = f" but {len(found):,}, as before: check_integrity says more" if found else ""
        say(f"All {total:,} {sentence}{but}.")


def _changed_requests() -> Iterator[tuple[object, str]]:
    for manifest in find_changed():
        yield manifest.pk, f"call {manifest.pk}"


def _broken_chains() -> Iterator[tuple[object, str]]:
    for verdict in audit_check.verify_all():
        for problem in verdict.problems:
            pk = verdict.conversation.pk
            yield (pk, problem), f"conversation {pk}: {problem}"
