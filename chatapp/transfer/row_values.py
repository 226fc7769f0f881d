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
from chatapp.models import fields
from chatapp.models.audit import column_to_json
from chatapp.transfer.pieces import Unusable

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
    try:
        reader = _BY_NAME.get(column.name) or _READERS.get(column.get_internal_type(), _whole)
        found = reader(column, value)
    except WRONG as error:
        raise Unusable(f"{column.name} is not what it has to be.") from error
    if _is_no_choice(column, found):
        raise Unusable(f"{column.name} is none of the values that it can have.")
    return found


def _is_no_choice(column: Column, value: Any) -> bool:
    """Whether a column has to hold one of some values, and this is none of them."""
    return bool(column.choices) and value not in dict(column.flatchoices)


def _checked[V](value: V, holds: bool) -> V:
    if not holds:
        raise ValueError(value)
    return value


def _is_count(value: Any, least: int = 0) -> bool:
    return type(value) is int and least <= value <= _LARGEST


def _are_texts(values: Any) -> bool:
    return all(isinstance(one, str) for one in values)


def _text(column: Column, text: Any) -> str:
    longest = column.max_length or len(text)
    return condense.well_formed(_checked(text, isinstance(text, str) and len(text) <= longest))


def _whole(column: Column, number: Any) -> int:
    lowest = 0 if column.get_internal_type().startswith("Positive") else -_LARGEST
    return int(_checked(number, _is_count(number, lowest)))


def _moment(_column: Column, text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return _checked(at, at.tzinfo is not None and at.year in _YEARS)


def _decimal(_column: Column, text: Any) -> Decimal:
    number = Decimal(_checked(text, isinstance(text, str)))
    _checked(number, number.is_finite() and 0 <= number < _LARGEST_USD)
    return round(number, fields.USD_PLACES)


def _folded(_column: Column, value: Any) -> Any:
    record = condense.FoldingRecord.from_json(value) if value else condense.FoldingRecord()
    files = (*record.files, *record.left_out)
    counts = [record.characters, *(one.characters for one in files)]
    words = (word for one in files for word in (one.path, one.reason))
    return _checked(value, all(map(_is_count, counts)) and _are_texts(words))


def _content(_column: Column, value: Any) -> Any:
    if not isinstance(value, str):
        _checked(value, _are_texts(block["type"] for block in value))
    return condense.content_to_api(condense.content_from_api(value))


def _receipt(_column: Column, value: Any) -> condense.Receipt:
    found = condense.Receipt.from_json(value)
    for one in found.findings:
        known = one.state in _STATES and one.probe.kind in _FACTS
        _checked(value, known and _are_texts(asdict(one.probe).values()))
    return found


def _runs(_column: Column, value: Any) -> Any:
    holds = (_is_count(first, 1) and _is_count(last, first) for first, last in value)
    return _checked(value, all(holds))


def _scope(_column: Column, value: Mapping[str, Any]) -> Mapping[str, Any]:
    _checked(value, value.keys() <= {"first", "last", "call", "again"})
    _checked(value, _is_count(value["first"]) and _is_count(value.get("last", 0)))
    said = isinstance(value.get("call", ""), str) and value.get("again", True) is True
    return _checked(value, said)


def _draft(_column: Column, value: str) -> str:
    blocks = json.loads(_checked(value, isinstance(value, str)) or "[]")
    return _checked(value, all(_are_texts((one["type"], one["text"])) for one in blocks))


def _texts(_column: Column, value: Any) -> Any:
    return _checked(value, isinstance(value, list) and _are_texts(value))


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
    "CharField": _text,
    "TextField": _text,
    "BooleanField": lambda _column, value: _checked(value, isinstance(value, bool)),
    "UUIDField": lambda _column, value: uuid.UUID(value),
    "FloatField": lambda _column, value: float(
        _checked(value, not isinstance(value, bool) and math.isfinite(value))
    ),
    "DateTimeField": _moment,
    "DecimalField": _decimal,
    "JSONField": lambda column, value: _checked(
        value, isinstance(value, type(column.get_default()))
    ),
}
