"""The values of a row as JSON, and back; what comes back is checked."""

import json
import math
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any, get_args

from django.db import models
from django.utils import timezone

import condense
from chatapp.exchange.pieces import Unusable
from chatapp.models import fields
from chatapp.models.audit import column_to_json

type Column = "models.Field[Any, Any]"

_LARGEST = 2**31 - 1
_YEARS = range(1970, 2200)
_LARGEST_USD = 10**9
# What reading anything may fail with.
WRONG = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    condense.CondenseError,
)
_STATES = get_args(condense.FactState)
_FACTS = get_args(condense.FactKind)
_KINDS = {
    "CharField": str,
    "TextField": str,
    "BooleanField": bool,
    "DateTimeField": str,
    "UUIDField": str,
    "DecimalField": str,
}


def empty(column: Column) -> Any:
    """Return what a column holds where the file says nothing of it."""
    if column.null:
        return None
    match column.get_internal_type():
        case "CharField" | "TextField":
            return ""
        case "BooleanField":
            return False
        case "DateTimeField":
            return timezone.now()
        case "JSONField":
            return column_to_json(column.get_default())
    return 0


def missing(column: Column) -> Any:
    """Return what a column holds of which a file says nothing; raise Unusable where it has to."""
    value = empty(column)
    if _is_no_choice(column, value) or (value is None and not column.null):
        raise Unusable(f"{column.name} is missing.")
    return value


def read(column: Column, value: Any) -> Any:
    """Return what JSON says of a column as the row holds it; raise Unusable."""
    if value is None and column.null:
        return None
    kind = column.get_internal_type()
    known = _KINDS.get(kind)
    if known and not isinstance(value, known):
        raise Unusable(f"{column.name} is no {known.__name__}.")
    try:
        reader = _BY_NAME.get(column.name) or _READERS.get(kind, _read_whole)
        found = reader(column, value)
    except WRONG as error:
        raise Unusable(f"{column.name} is not what it has to be.") from error
    if _is_no_choice(column, found):
        raise Unusable(f"{column.name} is none of the values that it can have.")
    return found


def _is_no_choice(column: Column, value: Any) -> bool:
    """Whether a column has to hold one of some values, and this is none of them."""
    return bool(column.choices) and value not in dict(column.flatchoices)


def _read_text(column: Column, text: str) -> str:
    if column.max_length and len(text) > column.max_length:
        raise ValueError(text)
    return condense.well_formed(text)


def _read_whole(column: Column, number: Any) -> int:
    lowest = 0 if column.get_internal_type().startswith("Positive") else -_LARGEST
    if type(number) is not int or not lowest <= number <= _LARGEST:
        raise ValueError(number)
    return number


def _read_float(_column: Column, number: Any) -> float:
    if isinstance(number, bool) or not math.isfinite(number):
        raise ValueError(number)
    return float(number)


def _read_moment(_column: Column, text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None or at.year not in _YEARS:
        raise ValueError(text)
    return at


def _read_decimal(_column: Column, text: str) -> Decimal:
    number = Decimal(text)
    if not (number.is_finite() and 0 <= number < _LARGEST_USD):
        raise ValueError(text)
    return round(number, fields.USD_PLACES)


def _read_json(column: Column, value: Any) -> Any:
    if not isinstance(value, type(column.get_default())):
        raise TypeError(value)
    return value


def _texts(_column: Column, value: Any) -> list[str]:
    if not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        raise TypeError(value)
    return value


def _folded(_column: Column, value: Any) -> Mapping[str, Any]:
    record = condense.FoldingRecord.from_json(value) if value else condense.FoldingRecord()
    files = (*record.files, *record.left_out)
    counts = [record.characters, *(one.characters for one in files)]
    words = (word for one in files for word in (one.path, one.reason))
    if not all(type(one) is int and 0 <= one <= _LARGEST for one in counts):
        raise ValueError(value)
    _texts(_column, [*words])
    found: Mapping[str, Any] = value
    return found


def _content(_column: Column, value: Any) -> Any:
    if not isinstance(value, str):
        for block in value:
            if not isinstance(block["type"], str):
                raise TypeError(value)
    return condense.content_to_api(condense.content_from_api(value))


def _receipt(_column: Column, value: Any) -> condense.Receipt:
    found = condense.Receipt.from_json(value)
    for one in found.findings:
        if one.state not in _STATES or one.probe.kind not in _FACTS:
            raise ValueError(value)
        if not all(isinstance(text, str) for text in asdict(one.probe).values()):
            raise TypeError(value)
    return found


def _runs(_column: Column, value: Any) -> list[list[int]]:
    for first, last in value:
        if not (type(first) is type(last) is int and 0 < first <= last <= _LARGEST):
            raise ValueError(value)
    found: list[list[int]] = value
    return found


def _scope(_column: Column, value: Mapping[str, Any]) -> Mapping[str, Any]:
    numbers = [value["first"], value.get("last", 0)]
    known = {"first", "last", "call", "again"}
    if not (value.keys() <= known and all(type(n) is int and 0 <= n <= _LARGEST for n in numbers)):
        raise ValueError(value)
    if not isinstance(value.get("call", ""), str) or value.get("again", True) is not True:
        raise TypeError(value)
    return value


def _draft(_column: Column, value: str) -> str:
    blocks = json.loads(value or "[]")
    if not all(isinstance(one["type"], str) and isinstance(one["text"], str) for one in blocks):
        raise TypeError(value)
    return value


# Of these, pages read what is in them, and a file may hold anything.
_BY_NAME: dict[str, Callable[[Column, Any], Any]] = {
    "draft": _draft,
    "scope": _scope,
    "hides": _runs,
    "content": _content,
    "notes": _texts,
    "suggestions": _texts,
    "folded": _folded,
    "receipt": _receipt,
}
_READERS: dict[str, Callable[[Column, Any], Any]] = {
    "CharField": _read_text,
    "TextField": _read_text,
    "BooleanField": lambda _column, value: value,
    "UUIDField": lambda _column, value: uuid.UUID(value),
    "FloatField": _read_float,
    "DateTimeField": _read_moment,
    "DecimalField": _read_decimal,
    "JSONField": _read_json,
}
