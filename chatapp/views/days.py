"""Days in words, as the reader's calendar has them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import groupby

from django.http import HttpRequest
from django.utils.translation import gettext as _

from chatapp.rendering.zones import ZONE_COOKIE, zone_named

_WEEK = 7  # days


@dataclass(frozen=True, slots=True)
class Day[T]:
    """What belongs to one day or more; ``goes_on`` when a page before this one named it."""

    name: str
    items: tuple[T, ...]
    goes_on: bool


def zone_of(request: HttpRequest) -> tzinfo:
    """Return the reader's time zone, UTC until their browser has said it."""
    return zone_named(request.COOKIES.get(ZONE_COOKIE, ""))


def name_day(when: datetime, *, now: datetime, zone: tzinfo) -> str:
    """Return "Today", "Yesterday", "Previous 7 days" or "Earlier"."""
    days = (now.astimezone(zone).date() - when.astimezone(zone).date()).days
    if days <= 0:
        return _("Today")
    if days == 1:
        return _("Yesterday")
    return _("Previous 7 days") if days <= _WEEK else _("Earlier")


def group_by_day[T](
    items: Iterable[T], day_of: Callable[[T], str], *, last: str = ""
) -> list[Day[T]]:
    """Return the items by day, in their order; ``last`` is the day that the page before ended."""
    return [Day(name, tuple(group), name == last) for name, group in groupby(items, key=day_of)]
