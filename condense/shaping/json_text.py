"""JSON values as the text a model is shown: stable across languages, no ASCII escapes."""

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

# Where JavaScript changes to exponents: 1e21 and 1e-7.
MOST_DIGITS, LEAST_POINT = 21, -6


def plain(value: Any) -> str:
    """Return a scalar bare (text raw, ``null``, ``true``) and a list or object pretty-printed."""
    if isinstance(value, str):
        return value
    return pretty(value) if isinstance(value, Mapping | list | tuple) else _number(value)


def pretty(value: Any) -> str:
    """Return JSON indented by two spaces."""
    return _write(value, "\n")


def _write(value: Any, newline: str) -> str:
    if isinstance(value, str):
        return _quote(value)
    inner = newline + "  "
    if isinstance(value, Mapping):
        items = [f"{_quote(str(key))}: {_write(item, inner)}" for key, item in value.items()]
        return _wrap("{", items, "}", inner, newline)
    if isinstance(value, list | tuple):
        return _wrap("[", [_write(item, inner) for item in value], "]", inner, newline)
    return "null" if isinstance(value, float) and not math.isfinite(value) else _number(value)


def _wrap(opening: str, items: list[str], closing: str, inner: str, newline: str) -> str:
    if not items:
        return opening + closing
    return f"{opening}{inner}{f',{inner}'.join(items)}{newline}{closing}"


def _quote(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    # Half a surrogate pair as JavaScript writes it.
    return quoted.encode(errors="backslashreplace").decode()


def _number(value: Any) -> str:
    """Return null, a boolean or a number; numbers in the shortest form JavaScript gives."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) < 10**MOST_DIGITS:
        return str(value)
    if not isinstance(value, int | float):
        return str(value)
    number = float(value)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else f"{'-' if number < 0 else ''}Infinity"
    return _float(number)


def _float(number: float) -> str:
    parts = Decimal(repr(number)).normalize().as_tuple()
    digits = "".join(map(str, parts.digits))
    point = len(digits) + int(parts.exponent)
    sign = "-" if number < 0 else ""
    if number == 0:
        return "0"
    if len(digits) <= point <= MOST_DIGITS:
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    if 0 < point <= MOST_DIGITS:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if LEAST_POINT < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{point - 1:+d}"
