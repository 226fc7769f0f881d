"""Checks of PostgreSQL and Redis as they are now.

They need the network, so only `manage.py check --deploy --tag services` and the start of a server
or a worker ask for them.
"""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatapp import checks
from chatapp.environment import BadEnvironment
from chatapp.installation import PROGRAM

# Seconds that a server has to answer.
PATIENCE = 5
# Streams with everything that is used here.
OLDEST_REDIS = (6, 2)
# What may be removed to make room, so that keys without an end stay.
SAFE_POLICIES = ("noeviction", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl")
PROBE = "palimpsest:probe"


@register("services", deploy=True)
def check_services(**_options: Any) -> list[CheckMessage]:
    """Return what is wrong with the services; what needs one that can't be reached is not asked."""
    found = [*check_postgresql(connection)] if connection.vendor == "postgresql" else []
    if settings.CLUSTER:
        is_there = not found
        found += check_redis(settings.REDIS_URL)
        if is_there:
            found += _check_migrations()
    return found


def refuse_unfit() -> None:
    """Raise BadEnvironment with the first thing because of which no process should start."""
    for found in (*checks.check_cluster(), *check_services()):
        raise BadEnvironment(f"{found.msg} {found.hint}")


def check_postgresql(database: BaseDatabaseWrapper) -> Iterator[CheckMessage]:
    """Yield why the server of a database can't be worked with."""
    from psycopg import Error as PostgresError  # noqa: PLC0415 - only where it is used
    from psycopg import connect  # noqa: PLC0415

    given = {**database.get_connection_params(), "connect_timeout": PATIENCE, "autocommit": True}
    try:
        with connect(**given) as one, connect(**given) as other:
            version = divmod(one.info.server_version, 10_000)
            (least,) = database.features.minimum_database_version or (0,)
            if version[0] < least:
                yield Error(
                    _("PostgreSQL %(major)s.%(minor)s is too old.")
                    % {"major": version[0], "minor": version[1]},
                    _("Use %(version)s or newer.") % {"version": least},
                    id="palimpsest.E010",
                )
            if not _keeps_sessions(one, other):
                yield Error(
                    _(
                        "The pooler in front of PostgreSQL gives each transaction another session, "
                        "which loses locks and notes."
                    ),
                    _("Have it pool by session, or name PostgreSQL itself in DATABASE_URL."),
                    id="palimpsest.E011",
                )
    except PostgresError as error:
        yield Error(
            _("DATABASE_URL can't be used: %(reason)s.") % {"reason": _line(error)},
            _("Start PostgreSQL, or correct the address."),
            id="palimpsest.E012",
        )


def _keeps_sessions(one: Any, other: Any) -> bool:
    """Whether a connection stays with one process of the server, whatever others do."""

    def session(connection: Any) -> int:
        return int(connection.execute("SELECT pg_backend_pid()").fetchone()[0])

    if one.info.backend_pid == session(one):
        return True
    # Somebody is in between. A free session is given to whoever asks next, and is busy until the
    # end of a transaction.
    first = session(one)
    with other.transaction():
        return session(other) != first and session(one) == first


def _check_migrations() -> Iterator[CheckMessage]:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        apps = ", ".join(sorted({migration.app_label for migration, _backwards in plan}))
        text = ngettext(
            "The database lacks %(migrations)s migrations (%(apps)s).",
            "The database lacks %(migrations)s migrations (%(apps)s).",
            len(plan),
        )
        hint = _("Run `%(program)s migrate` once, before processes start.") % {"program": PROGRAM}
        yield Error(text % {"migrations": len(plan), "apps": apps}, hint, id="palimpsest.E013")


def check_redis(url: str) -> Iterator[CheckMessage]:
    """Yield why a server of Redis or Valkey can't be worked with."""
    # Comes with the extra "scale".
    from redis import AuthenticationError, Redis, RedisError, ResponseError  # noqa: PLC0415

    try:
        with Redis.from_url(url, socket_timeout=PATIENCE) as server:
            found = [*check_kind(server.info())]
            yield from found
            if not found:
                # Only a write tells: it may be full, a replica, or forbid this user something.
                server.xadd(PROBE, {"probe": b""}, maxlen=1)
                server.expire(PROBE, 1)
    except ResponseError as error:
        yield Error(
            _("Redis takes no write: %(reason)s.") % {"reason": _line(error)},
            _("Name one that is no replica, has memory left, and lets this user write."),
            id="palimpsest.E019",
        )
    except RedisError as error:
        text = _("REDIS_URL can't be used: %(reason)s.") % {"reason": _line(error)}
        if isinstance(error, AuthenticationError):
            text = _("REDIS_URL can't be used: it wants another user or password.")
        yield Error(text, _("Start Redis, or correct the address."), id="palimpsest.E015")


def check_kind(about: dict[str, Any]) -> Iterator[CheckMessage]:
    """Yield what a server tells about itself that can't work."""
    version = str(about["redis_version"])
    if tuple(map(int, version.split(".")[:2])) < OLDEST_REDIS:
        least = ".".join(map(str, OLDEST_REDIS))
        yield Error(
            _("Redis %(version)s is too old.") % {"version": version},
            _("Use %(version)s or newer, or Valkey.") % {"version": least},
            id="palimpsest.E016",
        )
    if about["redis_mode"] != "standalone":
        yield Error(
            _("Redis runs as a %(mode)s, which splits keys that are read together.")
            % {"mode": about["redis_mode"]},
            _("Name a server of its own in REDIS_URL: it needs little memory."),
            id="palimpsest.E017",
        )
    if (policy := about["maxmemory_policy"]) not in SAFE_POLICIES:
        yield Error(
            _("Redis may remove keys that are in use: its maxmemory-policy is %(policy)s.")
            % {"policy": policy},
            _("Set it to noeviction, and maxmemory to 256mb or more."),
            id="palimpsest.E018",
        )


def _line(error: Exception) -> str:
    """Return the first line of what a service said; neither puts a password into it."""
    line, *_rest = str(error).splitlines()
    return line.removeprefix("connection failed: ").removeprefix("connection is bad: ").rstrip(".")
