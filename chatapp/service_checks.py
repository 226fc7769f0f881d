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

from chatapp import checks
from chatapp.environment import BadEnvironment
from chatapp.installation import PROGRAM
from chatapp.sentences import translate as _

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
            major, minor = divmod(one.info.server_version, 10_000)
            (least,) = database.features.minimum_database_version or (0,)
            if major < least:
                text = _("PostgreSQL {major}.{minor} is too old.", major=major, minor=minor)
                hint = _("Use {version} or newer.", version=least)
                yield Error(text, hint, id="palimpsest.E010")
            if not _keeps_sessions(one, other):
                text = _(
                    "The pooler in front of PostgreSQL gives each transaction another session, "
                    "which loses locks and notes."
                )
                hint = _("Have it pool by session, or name PostgreSQL itself in DATABASE_URL.")
                yield Error(text, hint, id="palimpsest.E011")
    except PostgresError as error:
        text = _("DATABASE_URL can't be used: {reason}.", reason=_line(error))
        hint = _("Start PostgreSQL, or correct the address.")
        yield Error(text, hint, id="palimpsest.E012")


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
        text = _(
            "The database lacks {count} migration ({apps}).",
            "The database lacks {count} migrations ({apps}).",
            count=len(plan),
            apps=apps,
        )
        hint = _("Run `{program} migrate` once, before processes start.", program=PROGRAM)
        yield Error(text, hint, id="palimpsest.E013")


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
        text = _("Redis takes no write: {reason}.", reason=_line(error))
        hint = _("Name one that is no replica, has memory left, and lets this user write.")
        yield Error(text, hint, id="palimpsest.E019")
    except RedisError as error:
        text = _("REDIS_URL can't be used: {reason}.", reason=_line(error))
        if isinstance(error, AuthenticationError):
            text = _("REDIS_URL can't be used: it wants another user or password.")
        yield Error(text, _("Start Redis, or correct the address."), id="palimpsest.E015")


def check_kind(about: dict[str, Any]) -> Iterator[CheckMessage]:
    """Yield what a server tells about itself that can't work."""
    version = str(about["redis_version"])
    if tuple(map(int, version.split(".")[:2])) < OLDEST_REDIS:
        least = ".".join(map(str, OLDEST_REDIS))
        text = _("Redis {version} is too old.", version=version)
        hint = _("Use {version} or newer, or Valkey.", version=least)
        yield Error(text, hint, id="palimpsest.E016")
    if (mode := about["redis_mode"]) != "standalone":
        text = _("Redis runs as a {mode}, which splits keys that are read together.", mode=mode)
        hint = _("Name a server of its own in REDIS_URL: it needs little memory.")
        yield Error(text, hint, id="palimpsest.E017")
    if (now := about["maxmemory_policy"]) not in SAFE_POLICIES:
        text = _("Redis may remove keys that are in use: its maxmemory-policy is {now}.", now=now)
        hint = _("Set it to noeviction, and maxmemory to 256mb or more.")
        yield Error(text, hint, id="palimpsest.E018")


def _line(error: Exception) -> str:
    """Return the first line of what a service said; neither puts a password into it."""
    line, *_rest = str(error).splitlines()
    return line.removeprefix("connection failed: ").removeprefix("connection is bad: ").rstrip(".")
