"""Monitoring: is the server alive and ready, and its metrics."""

import functools
import itertools
import logging
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.environment import folder_problem
from chatapp.models import Condensation, Conversation, ModelCall, Turn
from chatapp.telemetry import Labels, tallies
from chatapp.turns import actions

log = logging.getLogger(__name__)

UNREADABLE = "The database can't be read."


@require_GET
@never_cache
def show_alive(_request: HttpRequest) -> HttpResponse:
    """Answer "ok", or 503 where a new start may help: conversations can't be read."""
    try:
        Conversation.objects.exists()
    except DatabaseError:
        log.exception("the database can't be read")
        return _answer(UNREADABLE)
    return _answer()


@require_GET
@never_cache
def show_ready(_request: HttpRequest) -> HttpResponse:
    """Answer "ok", or 503 with the reason while no turn may begin here."""
    if actions.is_closing():
        return _answer("The server is being stopped.")
    try:
        missing = _migrations() - MigrationRecorder(connection).applied_migrations().keys()
    except DatabaseError:
        log.exception("the database can't be read")
        return _answer(UNREADABLE)
    if missing:
        return _answer("The database has to be migrated.")
    if folder_problem("DATA_DIR", settings.DATA_DIR):
        return _answer("The disk can't be written.")
    return _answer()


@functools.cache
def _migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def _answer(problem: str = "") -> HttpResponse:
    status = 503 if problem else 200
    return HttpResponse(problem or "ok", status=status, content_type="text/plain")


if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

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


@require_GET
@never_cache
def show_metrics(request: HttpRequest) -> HttpResponse:
    """Answer whoever has the operator's token, or everybody where the operator allows that."""
    if not settings.ALLOW_METRICS:
        if not settings.METRICS_TOKEN:
            raise Http404
        scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
        right = secrets.compare_digest(token.encode(), settings.METRICS_TOKEN.encode())
        if scheme.lower() != "bearer" or not right:
            headers = {"WWW-Authenticate": "Bearer", "Content-Type": "text/plain"}
            return HttpResponse("A token is needed.", status=401, headers=headers)
    # Loaded with the first request: most servers are never asked.
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest  # noqa: PLC0415

    return HttpResponse(generate_latest(_Numbers()), content_type=CONTENT_TYPE_LATEST)


class _Numbers:
    """What prometheus-client takes for a registry."""

    def collect(self) -> "Iterator[Metric]":
        """Yield each number with its name and labels."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415

        for tally, name, says, labels, known in COUNTERS:
            counter = CounterMetricFamily(f"{PREFIX}_{name}", says, labels=labels)
            sums = dict.fromkeys(known, 0) | tallies.read(tally)
            for values, total in sums.items():
                counter.add_metric(values, float(total))
            yield counter
        load = actions.load()
        gauges = (
            ("running_turns", "Turns that run now.", load.turns),
            ("watchers", "Pages that watch a conversation.", load.watchers),
            ("event_loop_lag_seconds", "How long the event loop took to answer.", load.lag),
        )
        for name, says, value in gauges:
            if value is not None:
                yield GaugeMetricFamily(f"{PREFIX}_{name}", says, value=value)
