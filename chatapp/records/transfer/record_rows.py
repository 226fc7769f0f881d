"""Rows of a record: values as JSON and back; imported values are checked."""

import json
import math
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, get_args

from django.db import models
from django.utils import timezone

import condense
from chatapp.agent.annotated_blocks import has_rules
from chatapp.conversations.context import sizes
from chatapp.models import Conversation, Message, fields, message_store
from chatapp.models.audit import column_to_json
from chatapp.records.transfer import Unusable
from chatapp.records.transfer.record_tables import BY_SECTION, MESSAGES_KEY, Table, renamed
from condense import noop, say

type Column = "models.Field[Any, Any]"

_LARGEST = 2**31 - 1
_YEARS = range(1970, 2200)
_LARGEST_USD = 10**9
# Errors of reading a value of any kind.
WRONG = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
    condense.CondenseError,
)  # fmt: skip
WRONG_BUILD = noop("It is not built as it should be.")
_STATES = get_args(condense.FactState)
_FACTS = get_args(condense.FactKind)


def empty(column: Column) -> Any:
    """Return a column's value if the file has none for it."""
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


def _missing(column: Column) -> Any:
    value = empty(column)
    if value is not None and _is_no_choice(column, value):
        raise Unusable(say("{name} is missing.", name=column.name))
    return value


def _is_no_choice(column: Column, value: Any) -> bool:
    return bool(column.choices) and value not in dict(column.flatchoices)


def read(column: Column, value: Any) -> Any:
    """Return a column's value from its JSON; raise Unusable."""
    if value is None and column.null:
        return None
    try:
        reader = _BY_NAME.get(column.name) or _READERS.get(column.get_internal_type(), _whole)
        found = reader(column, value)
    except WRONG as error:
        raise Unusable(say("{name} is not what it has to be.", name=column.name)) from error
    if _is_no_choice(column, found):
        raise Unusable(say("{name} is none of the values that it can have.", name=column.name))
    return found


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
    record = condense.Folded.from_json(value) if value else condense.Folded()
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
        known = one.verdict in _STATES and one.kind in _FACTS
        _checked(
            value, known and _are_texts((one.text, one.needle, one.source, one.folder, one.context))
        )
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


def _cleared(_column: Column, value: Mapping[str, Any]) -> Any:
    return {name: {str(one): str(said) for one, said in of.items()} for name, of in value.items()}


def _texts(_column: Column, value: Any) -> Any:
    return _checked(value, isinstance(value, list) and _are_texts(value))


# Pages read the contents of these, and a file may hold anything.
_BY_NAME: dict[str, Callable[[Column, Any], Any]] = {
    "draft": _draft,
    "cleared": _cleared,
    "scope": _scope,
    "hides": _runs,
    "content": _content,
    "notes": _texts,
    "suggestions": _texts,
    "forgotten": _texts,
    "sentences": lambda _column, value: _checked(value, isinstance(value, list)),
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

# Random bits in the keys of one file's rows: the rest of each key is the row's number.
_NUMBERED = 32
# The highest number of an imported message: those that are written here later need some as well.
_HIGHEST = 10**9

WRONG_MESSAGE = noop("Message {number}: {problem}")
WRONG_ITEM = noop("Item {number} of {section}: {problem}")
MISNUMBERED = noop("Item {number} of {section} has another number.")


class Rows:
    """Makes the rows of one conversation, whose keys follow from their numbers in the file.

    So a row can name another one by its number before that is made.
    """

    def __init__(self, conversation: Conversation, counts: Mapping[str, int]) -> None:
        self.conversation = conversation
        # The keys of the stored messages by their numbers, and the new names of messages by the
        # file's.
        self.messages: dict[int, int] = {}
        self.names: dict[str, str] = {}
        # The number of the newest message.
        self.last_seq = 0
        self._base = uuid.uuid4().int >> _NUMBERED << _NUMBERED
        self._counts = counts
        self._made = Counter[str]()

    def learn(self, messages: Iterable[Message]) -> None:
        """Take in the keys of messages that are stored now."""
        for one in messages:
            self.messages[one.seq] = one.pk
            self.names[str(one.seq)] = str(one.pk)

    def message(self, item: Mapping[str, Any]) -> Message:
        """Return the row of the next message; raise Unusable.

        It has the file's number: a fork lacks the messages that its original had set aside. A
        summary or a marker refers to the stored messages.
        """
        least = self.last_seq + 1
        seq = item.get("seq", least)
        told = {"seq": seq, "position": seq, **item}
        values = self._values(
            BY_SECTION[MESSAGES_KEY], told, partial(WRONG_MESSAGE.format, number=seq)
        )
        hidden = max((last for _first, last in values["hides"] or ()), default=0)
        stands = least <= values["seq"] <= _HIGHEST and 1 <= values["position"] <= values["seq"]
        if not stands or hidden >= values["seq"]:
            raise Unusable(say("Message {number} stands where it can't.", number=seq))
        self.last_seq = values["seq"]
        said = condense.Message.from_api({"role": values["role"], "content": values["content"]})
        values |= message_store.columns_of(said) | {"claimed": has_rules(said.content) or None}
        return Message(conversation=self.conversation, **values)

    def of(self, section: str, items: Iterable[Mapping[str, Any]]) -> Iterator[models.Model]:
        """Yield the next rows of a section; raise Unusable."""
        table = BY_SECTION[section]
        for number, item in enumerate(items, self._made[section] + 1):
            if item.get("number", number) != number:
                raise Unusable(MISNUMBERED.format(number=number, section=section))
            wrong = partial(WRONG_ITEM.format, number=number, section=section)
            values = self._values(table, item, wrong)
            if table.within == "conversation":
                values["conversation"] = self.conversation
            if isinstance(table.model._meta.pk, models.UUIDField):  # noqa: SLF001 - Django's documented API
                values["pk"] = self._key(number)
            row = table.model(**values)
            if isinstance(row, fields.Speaking):
                row.restore_sentences()
            yield row
            self._made[section] += 1

    def _values(
        self, table: Table, item: Mapping[str, Any], wrong: Callable[..., str]
    ) -> dict[str, Any]:
        try:
            told = renamed({**item}, self.names)
            values = {}
            for name, column in table.columns.items():
                values[name] = read(column, told[name]) if name in told else _missing(column)
            for name, section in table.references.items():
                refers: Any = table.model._meta.get_field(name)  # noqa: SLF001 - Django's documented API
                key = values[refers.attname] = self._reference(section, item.get(name))
                if key is None and not refers.null:
                    raise Unusable(say("{name} is missing.", name=name))
        except Unusable as error:
            raise Unusable(wrong(problem=error)) from error
        except WRONG as error:
            raise Unusable(wrong(problem=noop("it is not what it has to be."))) from error
        return values

    def _reference(self, section: str, number: Any) -> Any:
        """Return the key of the row that has this number."""
        if number is None:
            return None
        if type(number) is not int or number <= 0:
            raise Unusable(say("what it names of {section} is no number.", section=section))
        if section == MESSAGES_KEY:
            key: Any = self.messages.get(number)
        else:
            key = self._key(number) if number <= self._counts[section] else None
        if key is None:
            said = noop("Item {number} of {section} is named, and missing.")
            raise Unusable(said.format(number=number, section=section))
        return key

    def _key(self, number: int) -> uuid.UUID:
        return uuid.UUID(int=self._base + number)


def as_own(item: dict[str, Any]) -> dict[str, Any]:
    """Return an imported message with its token count and marks.

    Text that this application wrote is not marked as the user's words.
    """
    if {"seq", "tokens"} & item.keys():
        return item
    # The row says later why something is no message.
    with suppress(*WRONG):
        said = condense.Message.from_api(item)
        marked = tuple(map(_marked, said.blocks)) if said.role == "user" else said.blocks
        if marked != said.blocks:
            item = item | {"content": condense.content_to_api(marked)}
        item = item | {"tokens": condense.count_message(said, sizes.COUNTER)}
    return item


def _marked(block: condense.Block) -> condense.Block:
    marks = {condense.BESIDE, condense.USER_WORDS}
    if not isinstance(block, condense.TextBlock) or marks & block.extra.keys():
        return block
    words = condense.own_words(block.text)
    own = words == block.text.strip()
    return block if own else replace(block, extra={**block.extra, condense.USER_WORDS: words})
