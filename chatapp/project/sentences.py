"""Sentences, numbers, money and lists in the reader's language and locale."""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from copy import copy
from datetime import UTC, tzinfo
from decimal import Decimal
from string import Formatter
from typing import Any, override
from zoneinfo import ZoneInfo

from babel import Locale, UnknownLocaleError
from babel.lists import format_list
from babel.numbers import NumberPattern, get_minus_sign_symbol, get_plus_sign_symbol
from django.utils.translation import get_language, gettext, ngettext

SIGNIFICANT_DIGITS = 3
# The error that a sum of floats may have.
TINY = 1e-9
# Among the numbers up to this, each plural form of every language is found.
MOST_FORMS = 110

# The locale of numbers, in any language of the page.
reader_locale: ContextVar[str] = ContextVar("reader_locale", default="en")


def translate(sentence: str, plural: str = "", /, **values: object) -> str:
    """Return a sentence in the reader's language; of a plural, the form for ``count``.

    Values stand in it as with ``str.format``, but ``{size:,}`` and ``{size:,.1f}`` are numbers as
    the reader's locale writes them, and ``{share:%}`` is one of a hundred.
    """
    said = ngettext(sentence, plural, values["count"]) if plural else gettext(sentence)  # type: ignore[arg-type] # a number
    return fill_in(said, values)


def fill_in(sentence: str, values: Mapping[str, object]) -> str:
    """Return a sentence with these values in it, without any as it is."""
    return _FORMATTER.vformat(sentence, (), values) if values else sentence


class _LocalFormatter(Formatter):
    @override
    def format_field(self, value: Any, format_spec: str) -> Any:
        if format_spec in {"%", ".0%"}:
            return percent(value if format_spec == "%" else round(100 * value))
        if not format_spec.startswith(","):
            return super().format_field(value, format_spec)
        return number(value, int(format_spec[2:-1] or 0))


_FORMATTER = _LocalFormatter()


def first_known(codes: Iterable[str]) -> str:
    """Return the first known locale, or ""."""
    for code in codes:
        with suppress(UnknownLocaleError, ValueError):
            return str(Locale.parse(code, sep="-"))
    return ""


def number(value: float | Decimal, decimals: int = 0) -> str:
    """Return the number rounded, with separated thousands."""
    return _written(f"{value:.{decimals}f}", decimals, "decimal", reader_locale.get())


@functools.lru_cache(10_000)
def _written(rounded: str, decimals: int, kind: str, code: str) -> str:
    """Return the number as this locale writes it; cached, as formatting is slow."""
    pattern, locale = _pattern(decimals, kind, code)
    currency = "USD" if kind == "currency" else None
    said = pattern.apply(Decimal(rounded), locale, currency=currency, currency_digits=False)
    return said.replace("US$", "$") if locale.language == "en" else str(said)


@functools.cache
def _pattern(decimals: int, kind: str, code: str) -> tuple[NumberPattern, Locale]:
    """Return the locale's pattern for such numbers, which takes longer to find than to apply."""
    locale = Locale.parse(code)
    formats = getattr(locale, f"{kind}_formats")
    pattern = copy(formats["standard" if kind == "currency" else None])
    pattern.frac_prec = (decimals, decimals)
    if kind == "currency" and locale.character_order == "right-to-left":
        # The amount and its sign stay apart from the symbol, and "$" with its letters.
        pattern.suffix = tuple(
            f"\N{RIGHT-TO-LEFT MARK}{one}\N{LEFT-TO-RIGHT MARK}" for one in pattern.suffix
        )
    return pattern, locale


def percent(share: float) -> str:
    """Return a share of a hundred as the locale writes it, rounded half up: "27%" or "<1%"."""
    is_little = 0 < share < 1
    whole = 1 if is_little else math.floor(share + 0.5)
    said = _written(f"{whole / 100:.2f}", 0, "percent", reader_locale.get())
    return f"<{said}" if is_little else said


def apportion(shares: Sequence[float]) -> list[int]:
    """Return whole numbers that add up to the rounded total, each nearly its share."""
    parts = [math.floor(one) for one in shares]
    left = math.floor(sum(shares) + 0.5 + TINY) - sum(parts)
    for place in sorted(range(len(parts)), key=lambda at: parts[at] - shares[at])[:left]:
        parts[place] += 1
    return parts


def money(usd: Decimal, decimals: int = 2) -> str:
    """Return dollars with significant digits kept, and these decimals: $0.004 is never $0.00."""
    if not usd:
        decimals = 0
    elif abs(usd) < 1:
        places = SIGNIFICANT_DIGITS - 1 - usd.adjusted()
        digits = f"{usd:.{places}f}"
        if Decimal(digits) == usd or places == SIGNIFICANT_DIGITS:
            # A zero that cents were rounded to is a digit: $0.0120 next to $0.0118.
            digits = digits.rstrip("0")
        decimals = max(decimals, len(digits.partition(".")[2]))
    written = _written(f"{usd:.{decimals}f}", decimals, "currency", reader_locale.get())
    return written.replace("-", sign(usd)) if usd < 0 else written


def sign(value: float | Decimal) -> str:
    """Return the plus or minus sign of a change in the reader's locale; zero has a minus."""
    symbol = get_plus_sign_symbol if value > 0 else get_minus_sign_symbol
    return symbol(reader_locale.get()).replace("-", "\N{MINUS SIGN}")


@functools.cache
def _samples(language: str) -> dict[str, int]:
    """Return a number for each plural form that a language has, "other" among them."""
    rule = Locale.parse(language, sep="-").plural_form
    # Arabic's forms repeat after a hundred; a form for millions alone is written like "other".
    return {rule(number): number for number in range(MOST_FORMS, -1, -1)}


def forms_of(singular: str, plural: str) -> dict[str, str]:
    """Return a sentence in each plural form of the reader's language, by CLDR's names."""
    samples = _samples(get_language() or "en")
    return {form: ngettext(singular, plural, count) for form, count in samples.items()}


def in_a_row(items: Iterable[str]) -> str:
    """Return things as the reader's language lists them: "a, b, and c"."""
    return format_list([*items], locale=Locale.parse(get_language() or "en", sep="-"))


# Set by the pages' script: the name of the reader's time zone.
ZONE_COOKIE = "zone"


@functools.lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """Return the time zone of this name, or UTC if there is none."""
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        # Anybody can write anything into a cookie.
        return UTC
