"""Numbers and money as the reader's locale writes them."""

import functools
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.formats import get_format
from django.utils.numberformat import format as put_separators
from django.utils.translation import get_language_info
from django.utils.translation.trans_real import parse_accept_lang_header

SIGNIFICANT_DIGITS = 3
GROUP = 3  # digits between two separators

# Whose way to write numbers holds here, whatever language the page is in.
reader_locale: ContextVar[str] = ContextVar("reader_locale", default="en")


def locale_of(accept_language: str) -> str:
    """Return the first of a browser's languages that is known, "en" where none is."""
    for code, _quality in parse_accept_lang_header(accept_language.lower()):
        with suppress(KeyError):
            return str(get_language_info(code)["code"])
    return "en"


def readers_numbers(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Write the numbers of each answer as the reader's browser asks for."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        reader_locale.set(locale_of(request.headers.get("Accept-Language", "")))
        return get_response(request)

    return middleware


def number(value: float | Decimal, decimals: int = 0) -> str:
    """Return the number rounded, with separated thousands."""
    # Django's own formatting cuts digits off instead of rounding.
    return _written(f"{value:.{decimals}f}", decimals, reader_locale.get())


@functools.lru_cache(10_000)
def _written(rounded: str, decimals: int, locale: str) -> str:
    """Return the number as this locale writes it: ten times as fast where it is known."""
    point, separator = (get_format(f"{of}_SEPARATOR", locale) for of in ("DECIMAL", "THOUSAND"))
    return put_separators(
        Decimal(rounded), point, decimals, GROUP, separator or ",", force_grouping=True
    )


def money(usd: Decimal, decimals: int = 2) -> str:
    """Return dollars with significant digits kept, and these decimals: $0.004 is never $0.00."""
    if not usd:
        return "$0"
    if usd < 0:
        return f"\N{MINUS SIGN}{money(-usd, decimals)}"
    if usd >= 1:
        return f"${number(usd, decimals)}"
    places = SIGNIFICANT_DIGITS - 1 - usd.adjusted()
    digits = f"{usd:.{places}f}".rstrip("0").partition(".")[2]
    return f"${number(usd, max(decimals, len(digits)))}"


# Set by the pages' script: the name of the reader's time zone.
ZONE_COOKIE = "zone"


@functools.lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """Return a time zone, UTC where there is none of that name."""
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        # Anybody can write anything into a cookie, and a small system has no list of zones.
        return UTC
