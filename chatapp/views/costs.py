"""What the calls to models cost: by day, by profile and by conversation."""

from datetime import timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import TruncDate
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from chatapp.models import ModelCall
from chatapp.views.common import Request, signed_in
from chatapp.views.days import zone_of

DAYS = 30
CONVERSATIONS = 50


@require_GET
@signed_in
def show_costs(request: Request) -> HttpResponse:
    """Show the cost of the latest days, of all profiles and of the dearest conversations."""
    calls = ModelCall.objects.owned_by(request.user)
    zone = zone_of(request)
    today = timezone.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    latest = calls.filter(created_at__gte=today - timedelta(days=DAYS - 1))
    days = latest.annotate(day=TruncDate("created_at", tzinfo=zone))
    profiles = list(calls.costs_by("profile_name").order_by("profile_name"))
    named = calls.annotate(title=F("conversation__title")).costs_by("conversation", "title")
    dearest = (F("measured") + F("estimated")).desc()
    context = {
        "days": days.costs_by("day").order_by("-day"),
        "profiles": profiles,
        "conversations": named.order_by(dearest, "conversation")[:CONVERSATIONS],
        "totals": _add_up(profiles),
        "days_shown": DAYS,
        "most": CONVERSATIONS,
    }
    return render(request, "costs/page.html", context)


def _add_up(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of all columns of figures."""
    names = ("calls", "tokens_in", "tokens_out", "measured", "estimated", "unpriced")
    return {name: sum(row[name] for row in rows) for name in names}
