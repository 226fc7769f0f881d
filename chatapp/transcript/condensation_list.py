"""Lines of the history: what each attempt came to, in words and figures."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.utils.text import capfirst
from django.utils.translation import gettext as _

import condense
from chatapp.models import Condensation, Profile
from chatapp.transcript import labels


@dataclass(frozen=True)
class AttemptLine(labels.AttemptWords):
    """One attempt; ``words`` say how and why it was made and what it hid.

    ``status`` is how it stands: what it made may have been rewound since. ``instead`` is what
    happened in place of one that came to nothing, and of one that failed that nothing did. ``row``
    is the record whose row the chat has: too little to clear leaves none, so there it is of what
    was made instead.
    """

    row: Condensation
    status: str
    status_words: str
    words: Sequence[str]
    instead: str


def attempt_lines(attempts: Iterable[Condensation]) -> list[AttemptLine]:
    """Return a line for each attempt, in one query for all."""
    rows = list(attempts)
    fallen = [row for row in rows if row.fell_back_to]
    # What was made of the same messages as attempts that fell back, oldest first.
    followers: defaultdict[object, list[Condensation]] = defaultdict(list)
    if fallen:
        made = Condensation.objects.filter(
            conversation__in={row.conversation_id for row in fallen},
            at_seq__in={row.at_seq for row in fallen},
            message__isnull=False,
        )
        for row in made.with_place().brief().order_by("started_at"):
            followers[row.conversation_id, row.at_seq].append(row)
    return [_line(row, followers[row.conversation_id, row.at_seq]) for row in rows]


def _line(attempt: Condensation, followers: list[Condensation]) -> AttemptLine:
    failed = attempt.status == Condensation.Status.FAILED
    other = labels.made_instead(attempt, followers)
    succeeded = attempt.status == Condensation.Status.SUCCEEDED
    was_rewound = succeeded and getattr(attempt, "gone_with", None) is not None
    said = labels.AttemptWords(attempt)
    strategy = labels.strategy_name(attempt.strategy)
    words = [strategy, said.trigger_text, said.hidden_text, said.facts_kept]
    return AttemptLine(
        attempt=attempt,
        row=(labels.is_unremarkable(attempt) and other) or attempt,
        status="rewound" if was_rewound else attempt.status,
        status_words=_("Rewound") if was_rewound else capfirst(attempt.get_status_display()),
        words=[one for one in words if one],
        instead=labels.instead_text(other) if failed or other else "",
    )


# What a spreadsheet would take for a formula begins with one of these.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")

_COLUMNS = (
    "kind", "status", "trigger", "strategy", "profile_name", "model", "tokens_before",
    "tokens_before_measured", "tokens_after", "tokens_after_measured", "messages_hidden",
    "results_hidden", "condensations_hidden", "threshold", "allowed", "context_window",
    "writer_name", "writer_model", "cost_measured", "error",
)  # fmt: skip
# All that is read for it, of an attempt and of its conversation.
TABLE_COLUMNS = (
    *_COLUMNS, "started_at", "finished_at", "cost", "predicted_cost", "conversation__title",
)  # fmt: skip


def attempts_as_csv(attempts: Iterable[Condensation]) -> str:
    """Return a line for each attempt, below the names of the columns."""
    text = io.StringIO()
    table = csv.writer(text)
    for number, row in enumerate(_rows(attempts)):
        if not number:
            table.writerow(row)
        table.writerow(
            f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
            for value in row.values()
        )
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


@dataclass(frozen=True, slots=True)
class Net:
    """In USD: what one more request would cost more with the tokens saved, and what is left of it.

    ``tokens_unpriced`` are those of profiles whose price is not known, which count for nothing.
    """

    worth: Decimal
    left: Decimal
    tokens_unpriced: int


def net_of(owner: User, totals: Mapping[str, Any]) -> Net:
    """Return the net of the totals of an owner's attempts, at the input prices of today."""
    one_token = condense.Usage(input=1)
    prices = {one.name: one.cost_of(one_token) for one in Profile.objects.filter(owner=owner)}
    worth, unpriced = Decimal(0), 0
    for name, tokens in totals["saved_by"].items():
        price = prices.get(name)
        worth += tokens * (price or 0)
        unpriced += tokens if price is None else 0
    return Net(worth, worth - totals["cost"], unpriced)
