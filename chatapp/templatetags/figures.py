"""Numbers as people read them: tokens, money, time spans, sizes and moments."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chatapp.conversations.context.sizes import CondensingPoint, source_label
from chatapp.models import Condensation
from chatapp.project.sentences import TINY, apportion, money, number, percent, sign
from chatapp.project.sentences import translate as _
from chatapp.providers.specs import short_name

register = template.Library()
register.filter("number", number)
register.filter("percent", percent)
register.filter("source_label", source_label)
register.filter("short_name", short_name)

SECONDS_PER_MINUTE = 60
MINUTES_PER_HOUR = 60
KILO = 1_000
SHORTEST = 0.1
NOTHING = "\N{EN DASH}"
IN_COLUMN = 4  # decimals


@register.filter
def tokens(count: int | None, measured: bool = True) -> str:
    """Return a count of tokens, with "≈" before an estimate above 0 and a dash for none."""
    if count is None:
        return NOTHING
    return number(count) if measured or not count else f"≈ {number(count)}"


@register.filter
def compact(count: int) -> str:
    """Return a count of tokens in short form: "940", "4.4k", "16k"."""
    if count < KILO:
        return number(count)
    thousands = round(count / KILO, 1)
    return _("{count}k", count=number(thousands, int(thousands < 100 and thousands % 1 > 0)))  # noqa: PLR2004


@register.filter
def usd(amount: Decimal | float | None, measured: bool = True, decimals: int = 2) -> str:
    """Return a cost with its significant digits, with "≈" before an estimate.

    $0.004 is never $0.00, nothing is free, and no amount has fewer ``decimals``.
    """
    if amount is None:
        return NOTHING
    return dollars(amount, measured, decimals) if amount else _("free")


@register.filter
def dollars(amount: Decimal | float | None, measured: bool = True, decimals: int = 2) -> str:
    """Return an amount in a sentence as ``usd`` does, but nothing as "$0"."""
    if amount is None:
        return NOTHING
    told = money(Decimal(str(amount)), decimals)
    return told if measured or not amount else f"≈ {told}"


@register.filter
def usd_in_column(amount: Decimal | None, measured: bool = True) -> str:
    """Return dollars as ``usd`` does, such that points stand below each other."""
    return usd(amount, measured, IN_COLUMN)


@register.filter
def duration(span: timedelta | float | None) -> str:
    """Return a time span in its two largest units: "8.4 s", "1 min 12 s", "2 h 5 min".

    Whole seconds have no decimals: "8 s".
    """
    if span is None:
        return NOTHING
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    if 0 < seconds < SHORTEST:
        return _("< {seconds:,.1f} s", seconds=SHORTEST)
    if round(seconds, 1) < SECONDS_PER_MINUTE:
        return _("{seconds} s", seconds=number(seconds, 0 if isinstance(span, int) else 1))
    minutes, rest = divmod(round(seconds), SECONDS_PER_MINUTE)
    if minutes < MINUTES_PER_HOUR:
        return _("{minutes} min {seconds} s", minutes=minutes, seconds=rest)
    hours, minutes = divmod(minutes, MINUTES_PER_HOUR)
    return _("{hours:,} h {minutes} min", hours=hours, minutes=minutes)


@register.filter
def size(characters: int) -> str:
    """Return a text's length in words: "312 characters", "12.4 k characters"."""
    if characters < KILO:
        return _("{count:,} character", "{count:,} characters", count=characters)
    return _("{size:,.1f} k characters", size=characters / KILO)


@register.filter
def stored(count: int) -> str:
    """Return a file's size in words: "1 byte", "12.4 kB", "3.0 MB"."""
    if count < KILO:
        return _("{count:,} byte", "{count:,} bytes", count=count)
    if count < KILO**2:
        return _("{size:,.1f} kB", size=count / KILO)
    return _("{size:,.1f} MB", size=count / KILO**2)


@register.filter
def saved(share: float) -> str:
    """Return a saved percentage as a change: a saving is negative, growth positive."""
    return sign(-share) + percent(abs(share))


@register.filter
def end_to_end(parts: Sequence[Any]) -> list[tuple[float, Any]]:
    """Return the parts of a bar with their starts; in percent, like their sizes."""
    starts = accumulate([one.percent for one in parts], initial=0.0)
    return list(zip(starts, parts, strict=False))


@register.filter
def with_shares(parts: Sequence[Any]) -> list[tuple[Any, str]]:
    """Return parts, each with its percentage; those add up to the rounded total."""
    shares = [one.percent for one in parts]
    whole = zip(parts, shares, apportion(shares), strict=True)
    return [(one, percent(rounded or min(share, TINY))) for one, share, rounded in whole]


@register.filter
def moment(when: datetime | None, style: str = "full") -> SafeString:
    """Return a ``<time>`` that the page shows in the reader's zone; UTC until then."""
    if when is None:
        return SafeString(NOTHING)
    return format_html(
        '<time datetime="{}" data-style="{}">{}</time>',
        when.isoformat(timespec="seconds"),
        style,
        when.strftime("%Y-%m-%d %H:%M UTC"),
    )


@register.filter
def threshold(attempt: Condensation) -> str:
    """Return an attempt's threshold in tokens and percent, and the setting it came from."""
    sources = {
        "profile": _("from the profile"),
        "global": _("from Settings"),
        "adaptive": _("adapted"),
    }
    point = CondensingPoint.of_attempt(attempt)
    told = {"at": point.at, "percent": point.percent}
    source = sources.get(attempt.threshold_source, _("from the operator"))
    if point.at >= attempt.allowed:
        source = _("as much as a request may hold")
    return _("{at:,} tokens ({percent:%}), {source}", source=source, **told)
