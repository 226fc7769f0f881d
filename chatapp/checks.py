"""System checks: settings and services that cannot work, each with a way out.

PostgreSQL and Redis are asked over the network, as they are now, so only `manage.py check --deploy
--tag services` and the start of a server or a worker do that.
"""

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004 - Django's name
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.utils.module_loading import import_string

import condense
from chatapp.project.environment import (
    LOCAL_HOSTS,
    WILDCARD_HOSTS,
    BadEnvironment,
    folder_problem,
    read_text,
)
from chatapp.project.installation import PROGRAM
from chatapp.project.network import AddressRefused, Guard, proxy_of, tls, without_userinfo
from chatapp.project.sentences import translate as _
from chatapp.providers import provider_specs

if TYPE_CHECKING:
    from psycopg import Connection
    from redis import Redis

# Seconds that a server has to answer.
SERVER_TIMEOUT = 5
# The isolation in which a write waits for another transaction and goes on.
READ_COMMITTED = "read committed"
# Streams with everything that is used here.
OLDEST_REDIS = (6, 2)
# A server that has all keys.
STANDALONE = "standalone"
# Policies that may remove keys to make room, but never keys without an end.
SAFE_POLICIES = ("noeviction", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl")
PROBE, COUNT = "palimpsest:probe", "palimpsest:probe:count"


@register("palimpsest")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Return the settings that cannot work, before a message or a page needs them."""
    return [*_check_server(), *_check_network(), *_check_condensing(), *check_cluster()]


def _check_server() -> Iterator[CheckMessage]:
    if problem := folder_problem("DATA_DIR", settings.DATA_DIR):
        hint = _("Name a folder that you own with DATA_DIR.")
        yield Error(problem, hint, id="palimpsest.E001")
    host = settings.HOST
    if settings.DEBUG and host not in LOCAL_HOSTS:
        text = _("DEBUG is on while other machines can reach HOST {host}.", host=host)
        hint = _("Unset DEBUG, or set HOST to 127.0.0.1.")
        yield Error(text, hint, id="palimpsest.E002")
    local = {*LOCAL_HOSTS, *WILDCARD_HOSTS, "[::]"}
    if host in WILDCARD_HOSTS and set(settings.ALLOWED_HOSTS) <= local:
        text = _("HOST {host} listens to the network, but only local names are allowed.", host=host)
        hint = _("Set PUBLIC_URL to the address that people type.")
        yield Warning(text, hint, id="palimpsest.W001")
    is_proxied = settings.BEHIND_TLS or any(
        one.startswith("https") for one in settings.CSRF_TRUSTED_ORIGINS
    )
    if is_proxied and not settings.TRUSTED_PROXIES:
        text = _("A proxy stands before the server, and its clients can't be told from each other.")
        hint = _("Name its address with TRUSTED_PROXIES, and have it set X-Forwarded-For.")
        yield Warning(text, hint, id="palimpsest.W002")
    if not settings.PUBLIC_URL and any(one[:1] in "*." for one in settings.ALLOWED_HOSTS):
        text = _("ALLOWED_HOSTS has a wildcard: links carry whatever name a visitor's request has.")
        hint = _("Set PUBLIC_URL to the address that people type, or list each name.")
        yield Warning(text, hint, id="palimpsest.W003")


@register("palimpsest", deploy=True)
def check_tls(**_options: Any) -> list[CheckMessage]:
    """Return a warning unless PUBLIC_URL is an https address."""
    if settings.PUBLIC_URL.startswith("https"):
        return []
    text = _("PUBLIC_URL is no https address, so passwords and cookies may go unencrypted.")
    hint = _(
        "Put a proxy that ends TLS in front, and set PUBLIC_URL to its address, such as "
        "https://chat.example.org."
    )
    return [Warning(text, hint, id="palimpsest.W004")]


def check_cluster() -> Iterator[CheckMessage]:
    """Yield the settings that a cluster's processes lack or would not share."""
    if settings.REDIS_URL and not settings.CLUSTER:
        yield Error(
            _("REDIS_URL is set, but the database is a file, which several processes can't share."),
            _("Set DATABASE_URL to a PostgreSQL database, or unset REDIS_URL."),
            id="palimpsest.E007",
        )
    keys = (("SECRET_KEY", "secret-key", "E008"), ("SEAL_KEY", "seal-key", "E009"))
    for name, file, number in keys:
        if settings.CLUSTER and not read_text(name, ""):
            text = _("{name} is not set, and each machine would make one of its own.", name=name)
            hint = _(
                "Set it for all processes to the same long random text, or to what {file} in "
                "DATA_DIR holds.",
                file=file,
            )
            yield Error(text, hint, id=f"palimpsest.{number}")


def _check_network() -> Iterator[CheckMessage]:
    addresses = [
        (
            f"{one}_PROXY",
            without_userinfo(proxy_of(f"{one}://example.org") or ""),
            "http://proxy.example.org:3128",
        )
        for one in ("HTTP", "HTTPS")
    ] + [
        (spec.url_variable, getattr(settings, spec.url_variable), spec.url)
        for spec in provider_specs().values()
        if spec.url_variable
    ]
    for name, url, example in addresses:
        try:
            Guard(allow_private=True).check_base(url or example)
        except AddressRefused:
            text = _("{name} is not an http or https address.", name=name)
            hint = _("Write it like {url}, or unset it.", url=example)
            yield Error(text, hint, id="palimpsest.E003")
    try:
        tls()
    except OSError as error:
        text = _("SSL_CERT_FILE can't be read: {error}", error=error)
        hint = _("Name a file of certificates in PEM format, or unset it.")
        yield Error(text, hint, id="palimpsest.E020")


def _check_condensing() -> Iterator[CheckMessage]:
    try:
        condense.load_strategy(settings.CONDENSE_STRATEGY)
    except (LookupError, TypeError) as error:
        names = ", ".join(one.name for one in condense.known_strategies())
        text = _("CONDENSE_STRATEGY does not name a strategy: {error}", error=error)
        hint = _("Use {names} or a dotted path.", names=names)
        yield Error(text, hint, id="palimpsest.E004")
    text = ""
    try:
        if settings.CONDENSE_HOOKS:
            hooks = import_string(settings.CONDENSE_HOOKS)
            if not (isinstance(hooks, condense.Hooks) or inspect.isfunction(hooks)):
                text = _(
                    "CONDENSE_HOOKS does not name a condense.Hooks object: that is something else"
                )
    except ImportError as error:
        text = _("CONDENSE_HOOKS does not name a condense.Hooks object: {error}", error=error)
    if text:
        hint = _("Give the dotted path of one, or of a function that makes one, or unset it.")
        yield Error(text, hint, id="palimpsest.E005")
    text = ""
    try:
        if settings.CONDENSE_CONFIGURATION:
            made = import_string(settings.CONDENSE_CONFIGURATION)(condense.Configuration())
            if not isinstance(made, condense.Configuration):
                text = _(
                    "CONDENSE_CONFIGURATION makes no condense.Configuration: it returns {made!r}",
                    made=made,
                )
    except Exception as error:  # noqa: BLE001 - the function is anybody's
        reason = str(error) or type(error).__name__
        text = _("CONDENSE_CONFIGURATION makes no condense.Configuration: {reason}", reason=reason)
    if text:
        hint = _("Give the dotted path of a function that takes one and returns one, or unset it.")
        yield Error(text, hint, id="palimpsest.E006")


@register("services", deploy=True)
def check_services(**_options: Any) -> list[CheckMessage]:
    """Return the problems of the services; checks that need an unreachable one are skipped."""
    found = [*check_postgresql(connection)] if connection.vendor == "postgresql" else []
    if settings.CLUSTER:
        is_there = not found
        found += check_redis(settings.REDIS_URL)
        if is_there:
            found += _check_migrations()
    return found


def refuse_unfit() -> None:
    """Raise BadEnvironment with the first problem that forbids any process to start."""
    for found in (*check_cluster(), *check_services()):
        raise BadEnvironment(f"{found.msg} {found.hint}")


def check_postgresql(database: BaseDatabaseWrapper) -> Iterator[CheckMessage]:
    """Yield the problems of a database server."""
    from psycopg import Error as PostgresError  # noqa: PLC0415 - only where it is used
    from psycopg import connect  # noqa: PLC0415

    given = {
        **database.get_connection_params(),
        "connect_timeout": SERVER_TIMEOUT,
        "autocommit": True,
    }
    try:
        with connect(**given) as one, connect(**given) as other:
            major, minor = divmod(one.info.server_version, 10_000)
            (least,) = database.features.minimum_database_version or (0,)
            if major < least:
                text = _("PostgreSQL {major}.{minor} is too old.", major=major, minor=minor)
                hint = _("Use {version} or newer.", version=least)
                yield Error(text, hint, id="palimpsest.E010")
            yield from check_defaults(one)
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


def check_defaults(one: "Connection[Any]") -> Iterator[CheckMessage]:
    """Yield problems with a database's encoding, and with its isolation of transactions."""
    encoding = one.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        text = _(
            "The database stores text as {encoding}, which lacks most letters.", encoding=encoding
        )
        hint = _("Name one that was made with ENCODING 'UTF8' TEMPLATE template0.")
        yield Error(text, hint, id="palimpsest.E021")
    ((isolation,),) = one.execute("SHOW default_transaction_isolation")
    if isolation != READ_COMMITTED:
        text = _(
            "PostgreSQL isolates transactions as {level}, where writes that meet fail.",
            level=isolation,
        )
        hint = _(
            "Set default_transaction_isolation to {level} for this user.", level=READ_COMMITTED
        )
        yield Error(text, hint, id="palimpsest.E022")


def _keeps_sessions(one: Any, other: Any) -> bool:
    """Return True if a connection keeps its server process while others are busy."""

    def session(connection: Any) -> int:
        return int(connection.execute("SELECT pg_backend_pid()").fetchone()[0])

    if one.info.backend_pid == session(one):
        return True
    # A pooler is in between. It gives a free session to the next caller, and a session is busy
    # until the end of a transaction.
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
    """Yield the problems of a Redis or Valkey server."""
    # Comes with the extra "scale".
    from redis import AuthenticationError, Redis, RedisError  # noqa: PLC0415

    try:
        with Redis.from_url(url, socket_timeout=SERVER_TIMEOUT) as server:
            found = [*check_kind(server.info())] or [*_check_use(server)]
    # An address may also name an unknown version of TLS.
    except (RedisError, ValueError) as error:
        text = _("REDIS_URL can't be used: {reason}.", reason=_line(error))
        if isinstance(error, AuthenticationError):
            text = _("REDIS_URL can't be used: it wants another user or password.")
        found = [Error(text, _("Start Redis, or correct the address."), id="palimpsest.E015")]
    yield from found


def _check_use(server: "Redis") -> Iterator[CheckMessage]:
    """Yield a problem unless Redis takes each command that is used.

    Only a try tells: it may be full, a replica, or forbid this user something.
    """
    from redis import ResponseError  # noqa: PLC0415 - comes with the extra "scale"

    try:
        server.xadd(PROBE, {"probe": b""}, maxlen=1)
        server.expire(PROBE, 1)
        server.xtrim(PROBE, maxlen=1)
        server.xrange(PROBE)
        server.xrevrange(PROBE)
        server.xread({PROBE: "0"})
        server.set(COUNT, 0, ex=1)
        server.incr(COUNT)
        server.get(COUNT)
        server.exists(COUNT)
        server.delete(COUNT)
    except ResponseError as error:
        text = _("Redis takes no write: {reason}.", reason=_line(error))
        hint = _("Name one that is no replica, has memory left, and lets this user write.")
        yield Error(text, hint, id="palimpsest.E019")


def check_kind(about: dict[str, Any]) -> Iterator[CheckMessage]:
    """Yield problems with a Redis server's version, mode and memory policy."""
    version = str(about["redis_version"])
    if tuple(map(int, version.split(".")[:2])) < OLDEST_REDIS:
        least = ".".join(map(str, OLDEST_REDIS))
        text = _("Redis {version} is too old.", version=version)
        hint = _("Use {version} or newer, or Valkey.", version=least)
        yield Error(text, hint, id="palimpsest.E016")
    # Valkey has another name for it. A Sentinel has no memory for keys, and so no policy.
    mode = about.get("redis_mode") or about.get("server_mode", STANDALONE)
    if mode != STANDALONE:
        text = _("Redis runs as a {mode}, and not as one server that has all keys.", mode=mode)
        hint = _("Name a server of its own in REDIS_URL: it needs little memory.")
        yield Error(text, hint, id="palimpsest.E017")
    elif (now := about.get("maxmemory_policy", SAFE_POLICIES[0])) not in SAFE_POLICIES:
        text = _("Redis may remove keys that are in use: its maxmemory-policy is {now}.", now=now)
        hint = _("Set it to noeviction, and maxmemory to 256mb or more.")
        yield Error(text, hint, id="palimpsest.E018")


def _line(error: Exception) -> str:
    """Return the first line of a service's error; neither service puts a password into it."""
    line, *_rest = str(error).splitlines()
    return line.removeprefix("connection failed: ").removeprefix("connection is bad: ").rstrip(".")
