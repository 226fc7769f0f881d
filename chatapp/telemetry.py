"""Counters of this process since its start; they name nobody and no conversation."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal

import condense

Labels = tuple[str, ...]


class Tallies:
    """Numbers that only grow, each under a name and the values of its labels; for all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: defaultdict[str, defaultdict[Labels, Decimal]] = defaultdict(
            lambda: defaultdict(Decimal)
        )

    def add(self, name: str, *labels: str, by: int | Decimal = 1) -> None:
        """Add to a number."""
        with self._lock:
            self._sums[name][labels] += by

    def read(self, name: str) -> dict[Labels, Decimal]:
        """Return the numbers under a name, by their labels."""
        with self._lock:
            return dict(self._sums[name])


tallies = Tallies()


def note_condensation(
    trigger: str, kind: str, outcome: str, seconds: float, cost: Decimal | None
) -> None:
    """Count an attempt with all its tries, by its record's trigger, kind and status."""
    tallies.add("condensations", trigger, kind, outcome)
    tallies.add("condensing_seconds", trigger, kind, outcome, by=Decimal(str(seconds)))
    tallies.add("condensing_cost", trigger, kind, outcome, by=cost or 0)


def note_refusal(rules: Iterable[str]) -> None:
    """Count a model's summary that was refused, under each rule that refused it."""
    for rule in rules:
        tallies.add("refused_summaries", rule)


def note_call(purpose: str, outcome: str, usage: condense.Usage, cost: Decimal | None) -> None:
    """Count a call to a model, its tokens, and its cost in USD (None: unknown)."""
    tallies.add("calls", purpose, outcome)
    for kind in ("input", "output", "cache_read", "cache_write"):
        tallies.add("tokens", kind, by=getattr(usage, kind))
    tallies.add("unpriced" if cost is None else "cost", by=1 if cost is None else cost)


_heartbeats: list[float] = []


def note_heartbeat() -> None:
    """Note that this process has just given a sign of life."""
    _heartbeats[:] = [time.time()]


def heartbeat() -> float | None:
    """Return when this process gave its last sign of life, in seconds since 1970; or None."""
    return _heartbeats[0] if _heartbeats else None
