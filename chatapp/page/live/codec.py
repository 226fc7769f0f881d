"""The encoding of events and hints, for another process that may be older or newer than this one.

Each is a JSON array of its name and its fields. A process that does not know a name skips it; a
field that one side does not know has its default on the other. A ``reason`` is English there, with
``made_of`` beside it: its template and values.
"""

import dataclasses
import functools
import logging
import types
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from typing import Any, get_args, get_type_hints

import orjson

import condense
from chatapp.agent.events import TurnEvent
from chatapp.page.live.hints import Hint

log = logging.getLogger(__name__)

Told = TurnEvent | Hint


def _reader_of(kind: type) -> Callable[[dict[str, Any]], Any]:
    """Return a function that makes an object of this class from its JSON fields."""
    known = {one.name for one in dataclasses.fields(kind)}
    ids = [name for name, of in get_type_hints(kind).items() if uuid.UUID in (of, *get_args(of))]

    def read(given: dict[str, Any]) -> Any:
        fields = {name: value for name, value in given.items() if name in known}
        with suppress(LookupError, ValueError):
            fields["reason"] = condense.Sentence.from_json(given["made_of"])
        for name in ids:
            if fields.get(name):
                fields[name] = uuid.UUID(fields[name])
        return kind(**fields)

    return read


def _kinds(union: Any) -> list[type]:
    """Return the classes of a union, which may hold others."""
    return [one for one in get_args(union) if not isinstance(one, types.UnionType)]


_READERS = {kind.__name__: _reader_of(kind) for kind in _kinds(TurnEvent) + _kinds(Hint)}


def encode(told: Iterable[Told]) -> bytes:
    """Return events or hints as JSON."""
    return to_json([(type(one).__name__, asdict(one) | _made_of(one)) for one in told])


def to_json(told: object) -> bytes:
    """Return the facts of events as JSON."""
    try:
        return orjson.dumps(told)
    except TypeError:
        # A model may write half a surrogate pair, which UTF-8 can't carry.
        return orjson.dumps(condense.well_formed_json(told))


def _made_of(told: Told) -> dict[str, Any]:
    reason: Any = getattr(told, "reason", "")
    return {"made_of": reason.to_json()} if getattr(reason, "values", None) else {}


def decode(text: bytes) -> list[Any]:
    """Return the decoded events or hints; unknown ones are left out."""
    found = []
    for name, fields in orjson.loads(text):
        if reader := _READERS.get(name):
            try:
                found.append(reader(fields))
            except TypeError:
                _say_once("understood", name)
        else:
            _say_once("known", name)
    return found


@functools.cache
def _say_once(what: str, name: str) -> None:
    """Log once per name: a newer process may send it many times a second."""
    log.warning("a newer process said something that is not %s: %s", what, name)
