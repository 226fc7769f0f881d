"""Moves: one database's rows put into another in one transaction, and compared before its end."""

from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatapp.environment import APPLICATION, PROCESS
from chatapp.errors import NotCopied
from chatapp.maintenance import audit_check, row_copy
from chatapp.maintenance.row_copy import Copied, Say
from chatapp.models import Conversation, Manifest
from chatapp.models.database import execute, is_shared
from chatapp.models.databases import in_use, name_of, snapshot, tables
from chatapp.number_formats import number
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
        said = _(
            "%(database)s is in use by process %(names)s. Stop all servers, workers and commands "
            "first."
        )
        raise NotCopied(said % {"database": name_of(database), "names": names})


def check_fit(database: BaseDatabaseWrapper) -> None:
    """Raise NotCopied where a database can't hold every letter, or holds something already."""
    with in_use(database):
        found = execute("SHOW server_encoding")[0][0] if is_shared() else "UTF8"
        if found != "UTF8":
            said = _(
                "%(database)s stores text as %(encoding)s, which lacks most letters. Name one that "
                "was made with ENCODING 'UTF8' TEMPLATE template0."
            )
            raise NotCopied(said % {"database": name_of(database), "encoding": found})
        row_copy.migrate()
        if table := row_copy.first_found():
            said = _("%(database)s is not empty: there are rows in %(table)s.")
            raise NotCopied(said % {"database": name_of(database), "table": table.name})


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
            said = _("%(database)s is damaged: %(error)s")
            raise NotCopied(said % {"database": name_of(source), "error": error}) from error
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
            there = table.count()
        if not there == table.count() == copied.rows[table.name]:
            lost = ngettext(
                "Not all %(rows)s rows of %(table)s are in the copy.",
                "Not all %(rows)s rows of %(table)s are in the copy.",
                there,
            )
            raise NotCopied(lost % {"rows": number(there), "table": table.name})
    filled = sum(1 for one in copied.rows.values() if one)
    rows = number(sum(copied.rows.values()))
    as_before = _("%(rows)s rows in %(tables)s tables: as many as before.")
    say(as_before % {"rows": rows, "tables": filled})
    for name, count in copied.mended.items():
        changed = ngettext(
            "%(name)s: %(values)s values were changed, which the new database has no place for.",
            "%(name)s: %(values)s values were changed, which the new database has no place for.",
            count,
        )
        say(changed % {"name": name, "values": number(count)})
    for look in (_requests, _chains):
        found = look()
        known = {}
        if found.problems:
            with in_use(source):
                known = look().problems
        if news := found.problems.keys() - known.keys():
            places = "; ".join([found.problems[one] for one in sorted(news, key=str)[:NAMED]])
            raise NotCopied(found.lost % {"places": places})
        counts = {"total": number(found.total), "damaged": number(len(found.problems))}
        say((found.damaged if found.problems else found.sound) % counts)


class _Look(NamedTuple):
    """What a database holds of something, which problems it has, and three sentences about it."""

    total: int
    problems: dict[object, str]
    sound: str
    damaged: str
    lost: str


def _requests() -> _Look:
    place = _("call %(call)s")
    total = Manifest.objects.count()
    return _Look(
        total,
        {one.pk: place % {"call": one.pk} for one in find_changed()},
        ngettext(
            "All %(total)s requests can be shown as they were sent.",
            "All %(total)s requests can be shown as they were sent.",
            total,
        ),
        _(
            "All %(total)s requests can be shown as they were sent but %(damaged)s, as before: "
            "check_integrity says more."
        ),
        _("Not all requests can be shown as they were sent in the copy: %(places)s."),
    )


def _chains() -> _Look:
    place = _("conversation %(conversation)s: %(problem)s")
    total = Conversation.objects.count()
    problems: dict[object, str] = {}
    for verdict in audit_check.verify_all():
        pk = verdict.conversation.pk
        for problem in verdict.problems:
            problems[pk, problem] = place % {"conversation": pk, "problem": problem}
    return _Look(
        total,
        problems,
        ngettext("All %(total)s audit chains hold.", "All %(total)s audit chains hold.", total),
        _("All %(total)s audit chains hold but %(damaged)s, as before: check_integrity says more."),
        _("Not all audit chains hold in the copy: %(places)s."),
    )
