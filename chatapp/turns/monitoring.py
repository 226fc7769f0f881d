"""Monitoring: a process's answers to probes: alive, ready, and its metrics.

A web process serves them among its pages, and a worker, which has none, on a port of its own.
"""

import functools
import itertools
import logging
import secrets
import socket
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, override

from asgiref.sync import SyncToAsync
from django.conf import settings
from django.db import DatabaseError, connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from chatapp.models import Condensation, Conversation, ModelCall, Turn
from chatapp.models.database import execute, is_shared
from chatapp.operations.key_rotation import ROWS_AT_ONCE, find_unreadable
from chatapp.page.live.live_views import views
from chatapp.project import telemetry
from chatapp.project.environment import BadEnvironment, folder_problem
from chatapp.project.sentences import translate as _
from chatapp.turns.running_turns import running_turns

if TYPE_CHECKING:
    from redis import Redis

log = logging.getLogger(__name__)

DATABASE_UNREADABLE = "The database can't be read."
WITHOUT_REDIS = "ok, but Redis can't be used: what other processes do shows late."
OTHER_KEY = (
    "ok, but some stored keys can't be read with this SECRET_KEY: `check_integrity` names them."
)

# Seconds that Redis has for an answer, and the key that it keeps as long.
PATIENCE, READY = 2, "palimpsest:ready"


def answer(path: str, authorization: str) -> HttpResponse:
    """Return the response at a path; takes as long as the database does.

    Not callable from the event loop's thread, whose lag is measured.
    """
    match path:
        case "/healthz":
            # A restart may help where the database's file can't be read.
            return _say("ok") if is_shared() or _is_readable() else _say(DATABASE_UNREADABLE, 503)
        case "/readyz":
            return _ready()
        case "/metrics":
            return _metrics(authorization)
    return _say("Not found", 404)


def _say(text: str, status: int = 200) -> HttpResponse:
    said = HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
    said["Content-Language"] = "en"
    return said


def _ready() -> HttpResponse:
    """Return "ok", or 503 with the reason that no turn may begin here.

    Without Redis all goes on, later.
    """
    if running_turns.closing:
        return _say("The server is being stopped.", 503)
    try:
        missing = _migrations() - MigrationRecorder(connection).applied_migrations().keys()
    except DatabaseError:
        log.exception("the database can't be read")
        return _say(DATABASE_UNREADABLE, 503)
    if missing:
        return _say("The database has to be migrated.", 503)
    if folder_problem("DATA_DIR", settings.DATA_DIR):
        return _say("The disk can't be written.", 503)
    if settings.CLUSTER and not _uses_redis():
        return _say(WITHOUT_REDIS)
    return _say(OTHER_KEY if next(find_unreadable(ROWS_AT_ONCE), None) else "ok")


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


def _uses_redis() -> bool:
    """Return True if Redis takes a write: one that is full, or a replica, still answers."""
    from redis import RedisError  # noqa: PLC0415 - comes with the extra "scale"

    try:
        return bool(_redis(settings.REDIS_URL).set(READY, "", ex=PATIENCE))
    except RedisError as error:
        log.warning("Redis can't be used: %s", error)
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


METRIC_PREFIX = "palimpsest"
# All outcomes are counted from 0, since a number that is not there yet can't be seen to grow.
_ENDINGS = ("succeeded", "failed", "declined", "cancelled", "unused")
_CAUSES = (Condensation.Trigger.values, Condensation.Kind.values, _ENDINGS)
_CHECKS = ("sections", "refusal", "repetition", "length", "facts", "contradictions")
for _counters, _labels in (
    ((telemetry.turns,), (Turn.Status.values,)),
    ((telemetry.calls,), (ModelCall.Purpose.values, ModelCall.Status.values)),
    (telemetry.condensations, _CAUSES),
    ((telemetry.refused_summaries,), (_CHECKS,)),
):
    for _counter, _values in itertools.product(_counters, itertools.product(*_labels)):
        _counter.labels(*_values)


def _metrics(authorization: str) -> HttpResponse:
    """Return the metrics for the operator's token, or for all if the operator allows it."""
    if not settings.ALLOW_METRICS:
        if not settings.METRICS_TOKEN:
            return _say("Not found", 404)
        scheme, _space, token = authorization.partition(" ")
        right = secrets.compare_digest(token.encode(), settings.METRICS_TOKEN.encode())
        if scheme.lower() != "bearer" or not right:
            refused = _say("A token is needed.", 401)
            refused["WWW-Authenticate"] = "Bearer"
            return refused
    return HttpResponse(generate_latest(telemetry.registry), content_type=CONTENT_TYPE_LATEST)


# By queue: the number of jobs that are due, and the seconds since the oldest was; and by "" the age
# of the oldest sign of life.
_SHARED = """
    SELECT CAST(queue_name AS text), count(*),
        EXTRACT(epoch FROM now() - min(coalesce(scheduled_at, at)))
    FROM procrastinate_jobs AS job JOIN procrastinate_events ON job_id = job.id
    WHERE type = 'deferred' AND status = 'todo' AND coalesce(scheduled_at <= now(), true)
    GROUP BY queue_name
    UNION ALL SELECT '', 1, EXTRACT(epoch FROM now() - min(heartbeat_at)) FROM chatapp_process
    WHERE kind <> 'command'
"""
_OF_QUEUES = (("queue_jobs", "Jobs that are due."), ("queue_oldest_seconds", "Since when."))


class _Now(Collector):
    """The numbers at the moment of a question."""

    @override
    def collect(self) -> Iterator[Metric]:
        if settings.CLUSTER:
            with suppress(DatabaseError):
                yield from self._shared()
        for name, says, value in self._gauges():
            if value is not None:
                yield GaugeMetricFamily(f"{METRIC_PREFIX}_{name}", says, value=value)

    def _shared(self) -> Iterator[Metric]:
        """Yield the metrics that the processes of a cluster share."""
        told = {queue: numbers for queue, *numbers in execute(_SHARED)}
        says, age = "Oldest sign of life of all.", told[""][1] or 0
        yield GaugeMetricFamily(f"{METRIC_PREFIX}_oldest_heartbeat_seconds", says, value=age)
        for place, (name, says) in enumerate(_OF_QUEUES):
            gauge = GaugeMetricFamily(f"{METRIC_PREFIX}_{name}", says, labels=("queue",))
            for queue in ("turns", "background", "long"):
                gauge.add_metric((queue,), float(told.get(queue, (0, 0))[place]))
            yield gauge

    def _gauges(self) -> Iterator[tuple[str, str, float | None]]:
        reached, lag = _uses_redis() if settings.CLUSTER else None, running_turns.lag()
        yield "running_turns", "Turns that run now.", len(running_turns.turns)
        yield "watchers", "Pages that watch a conversation.", views.watchers
        yield "event_loop_lag_seconds", "How long the event loop took to answer.", lag
        line = SyncToAsync.single_thread_executor._work_queue.qsize()  # noqa: SLF001
        yield "waiting_writes", "Calls that wait for the thread that writes.", line
        yield (
            "heartbeat_timestamp_seconds",
            "When turns got their last sign of life.",
            telemetry.heartbeat(),
        )
        yield "database_reachable", "Whether the database can be read.", _is_readable()
        yield "redis_reachable", "Whether Redis takes what it is told.", reached


telemetry.registry.register(_Now())


class _Server(ThreadingHTTPServer):
    """Answers each question in a thread of its own."""

    address_family = socket.AF_INET6 if ":" in settings.HOST else socket.AF_INET


class _Handler(BaseHTTPRequestHandler):
    """Answers one question, and knows no other methods of HTTP than GET and HEAD."""

    timeout = 10

    def do_GET(self) -> None:
        """Answer as a page would."""
        path, authorization = self.path.partition("?")[0], self.headers.get("Authorization", "")
        try:
            said = answer(path, authorization)
        except Exception:
            log.exception("a question about this process could not be answered")
            said = _say("The process can't tell.", 500)
        finally:
            connections.close_all()
        length = {"Content-Length": str(len(said.content)), "Cache-Control": "no-store"}
        self.send_response(said.status_code)
        for name, value in {**said.headers, **length}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(said.content)

    do_HEAD = do_GET  # noqa: N815 - named by http.server

    @override
    def log_message(self, format: str, *values: Any) -> None:
        log.debug(format, *values)


def serve() -> ThreadingHTTPServer | None:
    """Answer at HOST and WORKER_PORT until the server that is returned is closed; None without one.

    Raises BadEnvironment if it can't listen.
    """
    if not settings.WORKER_PORT:
        return None
    try:
        server = _Server((settings.HOST, settings.WORKER_PORT), _Handler)
    except OSError as error:
        said = _(
            "Cannot listen on {host} port {port}: {reason}. Set WORKER_PORT to another "
            "value, or leave it out.",
            host=settings.HOST,
            port=settings.WORKER_PORT,
            reason=error.strerror,
        )
        raise BadEnvironment(said) from error
    Thread(target=server.serve_forever, name="monitoring", daemon=True).start()
    return server
