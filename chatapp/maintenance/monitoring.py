"""Monitoring: what a process answers who watches over it: alive, ready, and its numbers."""

import functools
import itertools
import logging
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from chatapp.environment import folder_problem
from chatapp.models import Condensation, Conversation, ModelCall, Turn
from chatapp.models.database import is_shared
from chatapp.telemetry import Labels, heartbeat, tallies

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from redis import Redis

log = logging.getLogger(__name__)

UNREADABLE = "The database can't be read."
WITHOUT_REDIS = "ok, but Redis can't be reached: what other processes do shows late."

# Seconds that Redis has for an answer.
PATIENCE = 2


@dataclass(frozen=True, slots=True)
class Load:
    """Turns that run, pages that watch, and the event loop's lag in seconds, None without one."""

    turns: int
    watchers: int
    lag: float | None


class Process(Protocol):
    """A web process or a worker."""

    @property
    def closing(self) -> bool:
        """Whether nothing begins there any more."""

    def load(self) -> Load:
        """Return how busy it is; callable from any thread but the event loop's."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What HTTP is answered."""

    text: str
    status: int = 200
    content_type: str = "text/plain"
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(path: str, authorization: str, process: Process) -> Answer:
    """Return what is said at an address of a process; takes as long as its database does."""
    match path:
        case "/healthz":
            return _alive()
        case "/readyz":
            return _ready(process)
        case "/metrics":
            return _metrics(authorization, process)
    return Answer("Not found", 404)


def _alive() -> Answer:
    """Say "ok", or 503 where a new start may help: a file can't be read any more.

    A server of databases comes back by itself, and turns go on then.
    """
    return Answer("ok") if is_shared() or _is_readable() else Answer(UNREADABLE, 503)


def _ready(process: Process) -> Answer:
    """Say "ok", or 503 with the reason while no turn may begin here.

    Without Redis all goes on, later.
    """
    if process.closing:
        return Answer("The server is being stopped.", 503)
    try:
        missing = _migrations() - MigrationRecorder(connection).applied_migrations().keys()
    except DatabaseError:
        log.exception("the database can't be read")
        return Answer(UNREADABLE, 503)
    if missing:
        return Answer("The database has to be migrated.", 503)
    if folder_problem("DATA_DIR", settings.DATA_DIR):
        return Answer("The disk can't be written.", 503)
    return Answer(WITHOUT_REDIS if settings.CLUSTER and not _reaches_redis() else "ok")


@functools.cache
def _migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def _is_readable() -> bool:
    try:
        Conversation.objects.exists()
    except DatabaseError:
        log.exception("the database can't be read")
        return False
    return True


def _reaches_redis() -> bool:
    from redis import RedisError  # noqa: PLC0415 - comes with the extra "scale"

    try:
        return _redis(settings.REDIS_URL).ping() is not None
    except RedisError as error:
        log.warning("Redis can't be reached: %s", type(error).__name__)
        return False


@functools.cache
def _redis(address: str) -> "Redis":
    from redis import Redis  # noqa: PLC0415 - the same
    from redis.backoff import NoBackoff  # noqa: PLC0415
    from redis.retry import Retry  # noqa: PLC0415

    return Redis.from_url(
        address,
        socket_connect_timeout=PATIENCE,
        socket_timeout=PATIENCE,
        retry=Retry(NoBackoff(), 0),
    )


PREFIX = "palimpsest"
# Outcomes that there will be: a number that is not there yet can't be seen to grow.
_TURNS: list[Labels] = [(status,) for status in Turn.Status.values]
_CALLS: list[Labels] = [*itertools.product(ModelCall.Purpose.values, ModelCall.Status.values)]
_ENDINGS = ("succeeded", "failed", "declined", "cancelled", "unused")
_CONDENSATIONS: list[Labels] = [
    *itertools.product(Condensation.Trigger.values, Condensation.Kind.values, _ENDINGS)
]
_CAUSE = ("trigger", "kind", "outcome")
# Names, what they say, labels, and the values of the labels.
COUNTERS: tuple[tuple[str, str, str, Labels, list[Labels]], ...] = (
    ("turns", "turns", "Turns that are over.", ("outcome",), _TURNS),
    ("calls", "model_calls", "Calls to models.", ("purpose", "outcome"), _CALLS),
    ("tokens", "tokens", "Tokens of all calls.", ("kind",), []),
    ("cost", "cost_usd", "What calls cost, where that is known.", (), [()]),
    ("unpriced", "unpriced_calls", "Calls whose cost nobody knows.", (), [()]),
    ("condensations", "condensations", "Attempts to condense a context.", _CAUSE, _CONDENSATIONS),
)


def _metrics(authorization: str, process: Process) -> Answer:
    """Give the numbers to whoever has the operator's token, or to all where the operator likes."""
    if not settings.ALLOW_METRICS:
        if not settings.METRICS_TOKEN:
            return Answer("Not found", 404)
        scheme, _space, token = authorization.partition(" ")
        right = secrets.compare_digest(token.encode(), settings.METRICS_TOKEN.encode())
        if scheme.lower() != "bearer" or not right:
            return Answer("A token is needed.", 401, headers={"WWW-Authenticate": "Bearer"})
    # Loaded with the first request: most servers are never asked.
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest  # noqa: PLC0415

    return Answer(generate_latest(_Numbers(process)).decode(), content_type=CONTENT_TYPE_LATEST)


class _Numbers:
    """What prometheus-client takes for a registry."""

    def __init__(self, process: Process) -> None:
        self.process = process

    def collect(self) -> "Iterator[Metric]":
        """Yield each number with its name and labels."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415

        for tally, name, says, labels, known in COUNTERS:
            counter = CounterMetricFamily(f"{PREFIX}_{name}", says, labels=labels)
            sums = dict.fromkeys(known, 0) | tallies.read(tally)
            for values, total in sums.items():
                counter.add_metric(values, float(total))
            yield counter
        for name, says, value in self._gauges():
            if value is not None:
                yield GaugeMetricFamily(f"{PREFIX}_{name}", says, value=value)

    def _gauges(self) -> Iterator[tuple[str, str, float | None]]:
        load = self.process.load()
        reached = _reaches_redis() if settings.CLUSTER else None
        yield "running_turns", "Turns that run now.", load.turns
        yield "watchers", "Pages that watch a conversation.", load.watchers
        yield "event_loop_lag_seconds", "How long the event loop took to answer.", load.lag
        yield "heartbeat_timestamp_seconds", "When turns got their last sign of life.", heartbeat()
        yield "database_reachable", "Whether the database can be read.", _is_readable()
        yield "redis_reachable", "Whether Redis answers.", reached
