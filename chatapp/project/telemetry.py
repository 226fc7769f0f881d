"""Counters of this process since its start; they name nobody and no conversation."""

import time
from collections.abc import Iterable
from decimal import Decimal

from prometheus_client import CollectorRegistry, Counter, disable_created_metrics

import condense

# All numbers of /metrics.
registry = CollectorRegistry()
disable_created_metrics()  # type: ignore[no-untyped-call] # as the library has it


def _counter(name: str, says: str, *labels: str) -> Counter:
    return Counter(name, says, labels, namespace="palimpsest", registry=registry)


_CAUSE = ("trigger", "kind", "outcome")
turns = _counter("turns", "Turns that are over.", "outcome")
lost_turns = _counter("lost_turns", "Turns that ended though their process lives.")
calls = _counter("model_calls", "Calls to models.", "purpose", "outcome")
_tokens = _counter("tokens", "Tokens of all calls.", "kind")
_cost = _counter("cost_usd", "What calls cost, where that is known.")
_unpriced = _counter("unpriced_calls", "Calls whose cost nobody knows.")
condensations = (
    _counter("condensations", "Attempts to condense a context.", *_CAUSE),
    _counter("condensing_seconds", "Their work, all tries.", *_CAUSE),
    _counter("condensing_cost_usd", "Their known cost.", *_CAUSE),
)
refused_summaries = _counter("refused_summaries", "Summaries that a rule refused.", "rule")


def note_condensation(
    trigger: str, kind: str, outcome: str, seconds: float, cost: Decimal | None
) -> None:
    """Count an attempt with all its tries, by its record's trigger, kind and status."""
    for counter, by in zip(condensations, (1, seconds, float(cost or 0)), strict=True):
        counter.labels(trigger, kind, outcome).inc(by)


def note_refusal(rules: Iterable[str]) -> None:
    """Count a model's summary that was refused, under each rule that refused it."""
    for rule in rules:
        refused_summaries.labels(rule).inc()


def note_call(purpose: str, outcome: str, usage: condense.Usage, cost: Decimal | None) -> None:
    """Count a call to a model, its tokens, and its cost in USD (None: unknown)."""
    calls.labels(purpose, outcome).inc()
    for kind in ("input", "output", "cache_read", "cache_write"):
        _tokens.labels(kind).inc(getattr(usage, kind))
    if cost is None:
        _unpriced.inc()
    else:
        _cost.inc(float(cost))


_heartbeats: list[float] = []


def note_heartbeat() -> None:
    """Note that this process has just given a sign of life."""
    _heartbeats[:] = [time.time()]


def heartbeat() -> float | None:
    """Return when this process gave its last sign of life, in seconds since 1970; or None."""
    return _heartbeats[0] if _heartbeats else None
