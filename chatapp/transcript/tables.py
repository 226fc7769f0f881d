"""Attempts as a table for other programs."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from chatapp.models import Condensation

# What a spreadsheet would take for a formula begins with one of these.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")

_COLUMNS = (
    "kind",
    "status",
    "trigger",
    "strategy",
    "profile_name",
    "model",
    "tokens_before",
    "tokens_before_measured",
    "tokens_after",
    "tokens_after_measured",
    "messages_hidden",
    "results_hidden",
    "condensations_hidden",
    "threshold",
    "allowed",
    "context_window",
    "writer_name",
    "writer_model",
    "cost_measured",
    "error",
)
# All that is read for it, of an attempt and of its conversation.
TABLE_COLUMNS = (
    *_COLUMNS,
    "started_at",
    "finished_at",
    "cost",
    "predicted_cost",
    "conversation__title",
)


def attempts_as_csv(attempts: Iterable[Condensation]) -> str:
    """Return a line for each attempt, below the names of the columns."""
    text = io.StringIO()
    table = csv.writer(text)
    for number, row in enumerate(_rows(attempts)):
        if not number:
            table.writerow(row)
        table.writerow([_harmless(value) for value in row.values()])
    return text.getvalue()


def attempts_as_json(attempts: Iterable[Condensation]) -> str:
    """Return an object for each attempt, in a list."""
    return json.dumps([*_rows(attempts)], ensure_ascii=False, indent=1)


def _rows(attempts: Iterable[Condensation]) -> Iterator[dict[str, Any]]:
    for attempt in attempts:
        duration = attempt.duration
        yield {
            "id": str(attempt.pk),
            "conversation": str(attempt.conversation_id),
            "title": attempt.conversation.title,
            "started_at": attempt.started_at.isoformat(),
            "seconds": duration.total_seconds() if duration is not None else None,
            "cost": _usd(attempt.cost),
            "predicted_cost": _usd(attempt.predicted_cost),
            **{name: getattr(attempt, name) for name in _COLUMNS},
        }


def _usd(cost: Decimal | None) -> str | None:
    return None if cost is None else format(cost.normalize(), "f")


def _harmless(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
