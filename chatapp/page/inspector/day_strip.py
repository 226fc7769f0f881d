"""A strip of the latest days: tokens saved by condensations above, their cost below."""

from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from decimal import Decimal
from typing import Any

from django.db.models import Case, F, IntegerField, Q, Sum, When
from django.utils import timezone

from chatapp.models import Condensation
from chatapp.models.condensations import SPENDING, SPENT, CondensationQuerySet

DAYS = 30
# The width of a day and the height of each side of the line, in the chart's units.
WIDTH, HEIGHT = 20, 40


@dataclass(frozen=True, slots=True)
class DayColumn:
    """Tokens saved and USD spent on a day, and the heights of its bars."""

    date: date
    saved: int
    cost: Decimal | None  # of attempts whose cost is known
    measured: bool
    unknown: int  # number of the others
    x: int
    up: float
    down: float


def draw_days(attempts: CondensationQuerySet, zone: tzinfo) -> dict[str, Any]:
    """Return the latest ``days``, the oldest first, with the ``most`` saved and spent on one.

    There are none if nothing was saved or spent.
    """
    today = timezone.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    starts = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    in_force = Q(status=Condensation.Status.SUCCEEDED, message__rewind_parent=None)
    saved = Sum(F("tokens_before") - F("tokens_after"), filter=in_force, default=0)
    # SQLite asks Python for the date of each moment, which takes ten times as long as comparisons.
    places = [When(started_at__gte=start, then=place) for place, start in enumerate(starts)]
    latest = attempts.order_by().filter(started_at__gte=starts[0]).annotate(spent=SPENT)
    days = latest.values(place=Case(*reversed(places), output_field=IntegerField()))
    by_place: dict[int, Any] = {row["place"]: row for row in days.annotate(saved=saved, **SPENDING)}
    most = max([0, *(row["saved"] for row in by_place.values())])
    dearest = max([Decimal(0), *(row["cost"] or 0 for row in by_place.values())])
    found = list[DayColumn]()
    for place, start in enumerate(starts if most or dearest else ()):
        row = by_place.get(place, {})
        tokens, known = max(0, row.get("saved", 0)), row.get("cost") or Decimal(0)
        unknown, measured = row.get("cost_unknown", 0), not row.get("cost_guesses")
        cost = known or None if unknown else known
        x, up, down = (
            WIDTH * place,
            HEIGHT * tokens / (most or 1),
            HEIGHT * float(known / (dearest or 1)),
        )
        found.append(DayColumn(start.date(), tokens, cost, measured, unknown, x, up, down))
    return {"days": found, "most_saved": most, "most_spent": dearest}
