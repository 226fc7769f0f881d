"""What attempts to condense are sorted by, as numbers."""

from django.db.models import F, FloatField, Func, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce


class JulianDay(Func):
    """A moment as a number of days, which SQLite makes of it itself."""

    function = "julianday"
    output_field = FloatField()


# What a list is sorted by, as numbers, and what stands for one that is not known.
_RANKS: dict[str, tuple[Combinable, float]] = {
    "saved": (F("tokens_before") - F("tokens_after"), 0.0),
    "cost": (F("cost"), -1.0),
    "duration": (JulianDay("finished_at") - JulianDay("started_at"), -1.0),
}


def rank_by(name: str) -> Coalesce:
    """Return the number that attempts are sorted by under this name."""
    number, unknown = _RANKS[name]
    return Coalesce(Cast(number, FloatField()), Value(unknown))
