"""Moves: one database's rows put into another in one transaction, and compared before its end."""

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext_noop

from chatapp.checks import check_defaults
from chatapp.models import Conversation, Manifest
from chatapp.models.database import execute, is_shared
from chatapp.models.databases import in_use, name_of, snapshot, tables
from chatapp.models.errors import NotCopied
from chatapp.project.environment import APPLICATION, PROCESS
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import audit_check, row_copy
from chatapp.records.maintenance.integrity import all_shown, find_changed
from chatapp.records.maintenance.row_copy import Copied, Say

# Places that are named of one kind of problem.
NAMED = 5

_OTHERS = """
    SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database()
    AND application_name LIKE %s AND application_name <> %s ORDER BY 1
"""


def check_unused(database: BaseDatabaseWrapper) -> None:
    """Raise NotCopied if another process of this software is connected to a database."""
    # A file has no list of connections; a server that uses one locks the file's folder.
    with in_use(database):
        others = execute(_OTHERS, f"{APPLICATION} %", PROCESS) if is_shared() else []
    if others:
        names = ", ".join([name.removeprefix(f"{APPLICATION} ") for (name,) in others])
        said = gettext_noop(
            "{database} is in use by process {names}. Stop all servers, workers and commands first."
        )
        raise NotCopied(_(said, database=name_of(database), names=names))


def check_fit(database: BaseDatabaseWrapper) -> None:
    """Raise NotCopied if a database can't be worked with, or is not empty."""
    with in_use(database):
        database.ensure_connection()
        for problem in check_defaults(database.connection) if is_shared() else ():
            raise NotCopied(f"{problem.msg} {problem.hint}")
        row_copy.migrate()
        if table := row_copy.first_found():
            said = gettext_noop("{database} is not empty: there are rows in {table}.")
            raise NotCopied(_(said, database=name_of(database), table=table.name))


def move(
    source: BaseDatabaseWrapper, target: BaseDatabaseWrapper, say: Say, *, replace: bool = False
) -> None:
    """Copy all rows of one database into another, and report the result through ``say``.

    Raises NotCopied or DatabaseError if it fails; the target is then unchanged.
    """
    with in_use(source), snapshot():
        try:
            source.check_constraints()
        except IntegrityError as error:
            said = _("{database} is damaged: {error}", database=name_of(source), error=error)
            raise NotCopied(said) from error
        with in_use(target), transaction.atomic():
            copied = row_copy.copy_rows(source, target, say, replace=replace)
            target.check_constraints()
            _compare(source, copied, say)
            # A server that began meanwhile has written rows that are not in the copy.
            check_unused(source)
            check_unused(target)


def _compare(source: BaseDatabaseWrapper, copied: Copied, say: Say) -> None:
    """Compare the copy in use with its source and report it; raise NotCopied if it differs."""
    for table in tables():
        with in_use(source):
            there = table.count()
        if not there == table.count() == copied.rows[table.name]:
            lost = _(
                "The only row of {table} is not in the copy.",
                "Not all {count:,} rows of {table} are in the copy.",
                count=there,
                table=table.name,
            )
            raise NotCopied(lost)
    filled = sum(1 for one in copied.rows.values() if one)
    rows = sum(copied.rows.values())
    say(_("{rows:,} rows in {tables} tables: as many as before.", rows=rows, tables=filled))
    for name, count in copied.mended.items():
        changed = _(
            "{name}: {count:,} value was changed, which the new database has no place for.",
            "{name}: {count:,} values were changed, which the new database has no place for.",
            name=name,
            count=count,
        )
        say(changed)
    for look in (_requests, _chains):
        problems, said, lost = look()
        known: dict[object, str] = {}
        if problems:
            with in_use(source):
                known, *_rest = look()
        if news := problems.keys() - known.keys():
            places = "; ".join([problems[one] for one in sorted(news, key=str)[:NAMED]])
            raise NotCopied(_(lost, places=places))
        say(said)


# Problems, a sentence about everything examined, and a template for the places of new ones.
type _Found = tuple[dict[object, str], str, str]


def _requests() -> _Found:
    problems: dict[object, str] = {one.pk: _("call {id}", id=one.pk) for one in find_changed()}
    total = Manifest.objects.count()
    said = all_shown(total)
    if problems:
        said = _(
            "All {total:,} requests can be shown as they were sent but {damaged:,}, as before: "
            "check_requests says more.",
            total=total,
            damaged=len(problems),
        )
    lost = gettext_noop("Not all requests can be shown as they were sent in the copy: {places}.")
    return problems, said, lost


def _chains() -> _Found:
    problems: dict[object, str] = {}
    for verdict in audit_check.verify_all():
        pk = verdict.conversation.pk
        for problem in verdict.problems:
            problems[pk, problem] = _("conversation {id}: {problem}", id=pk, problem=problem)
    total = Conversation.objects.count()
    said = _("The only audit chain holds.", "All {count:,} audit chains hold.", count=total)
    if problems:
        said = _(
            "All {total:,} audit chains hold but {broken:,}, as before: check_integrity says more.",
            total=total,
            broken=len(problems),
        )
    return problems, said, gettext_noop("Not all audit chains hold in the copy: {places}.")
