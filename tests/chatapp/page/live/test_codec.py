"""Events and hints arrive in another process as they were told, which may be older or newer."""

import dataclasses
import logging
import uuid
from collections.abc import Mapping
from types import UnionType
from typing import Any, get_args, get_type_hints

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import condense
from chatapp.agent.events import (
    RetryScheduled,
    StepStarted,
    TextStreamed,
    ToolFinished,
    TurnEnded,
    TurnEvent,
)
from chatapp.page.live import codec
from chatapp.page.live.codec import decode, encode
from chatapp.page.live.hints import Hint, ListChanged

# A letter takes half a surrogate pair for another one, which is a fact of its own.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
INTEGERS = st.integers(-(2**53), 2**53)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: INTEGERS,
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    uuid.UUID: st.uuids(),
    type(None): st.none(),
    Mapping[str, int]: st.dictionaries(TEXTS, INTEGERS),
}


def kinds(union: Any) -> list[type]:
    """Return all classes of a union."""
    parts = get_args(union)
    return [one for part in parts for one in (kinds(part) if get_args(part) else [part])]


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Return what a field of this type may be."""
    if isinstance(annotation, UnionType):
        return st.one_of(*map(values_of, get_args(annotation)))
    return VALUES[annotation]


def made(kind: type) -> st.SearchStrategy[Any]:
    """Return objects of a class, each with all its fields."""
    types = get_type_hints(kind)
    names = [one.name for one in dataclasses.fields(kind)]  # type: ignore[arg-type] # all are
    return st.builds(kind, **{name: values_of(types[name]) for name in names})


KINDS = kinds(TurnEvent | Hint)
TOLD = st.one_of(*map(made, KINDS))


def test_names_are_unique() -> None:
    """One that stands for two would arrive as the wrong one."""
    assert len({kind.__name__ for kind in KINDS}) == len(KINDS) > 30


@given(told=st.lists(TOLD))
def test_what_is_told_arrives_as_it_was(told: list[Any]) -> None:
    """Each event and hint there is, with whatever it may hold."""
    heard = decode(encode(told))
    assert heard == told
    # What is equal may be of another type: 1 is True, and a str no UUID.
    assert repr(heard) == repr(told)


@given(text=st.text(st.characters()))
def test_words_that_no_json_carries_arrive_mended(text: str) -> None:
    """Half a surrogate pair, as a model may write it; NUL goes through."""
    (heard,) = decode(encode([TextStreamed(text)]))
    assert condense.well_formed(heard.text) == condense.well_formed(text)


@given(told=TOLD, name=TEXTS.filter(lambda name: name not in codec._READERS))
def test_what_only_a_newer_process_knows_is_skipped(told: Any, name: str) -> None:
    """Another event between two that are known, and a field beside those that are."""
    ((known, fields),) = orjson.loads(encode([told]))
    newer = [[name, {"text": "?"}], [known, {**fields, "newer field": [1]}], [known, fields]]
    assert decode(orjson.dumps(newer)) == [told, told]


def test_what_an_older_process_does_not_say_has_its_default() -> None:
    """And where there is none, the event is skipped, with a word in the log."""
    conversation = uuid.uuid4()
    older = [["ListChanged", {"user": 1}], ["TurnOpened", {"conversation": str(conversation)}]]
    assert decode(orjson.dumps(older)) == [ListChanged(1)]


@pytest.mark.parametrize("newer", [["StepSkipped", {}], ["ToolFinished", {"id": "call"}]])
def test_what_is_not_understood_is_named_in_the_log(
    newer: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever runs two versions finds out once why a page shows less; what comes next is heard."""
    codec._say_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert decode(orjson.dumps([newer, ["StepStarted", {"step": 1}]])) == [StepStarted(1)]
    (record,) = caplog.records
    assert record.args in {("known", "StepSkipped"), ("understood", ToolFinished.__name__)}


def test_a_reason_arrives_with_what_it_was_made_of() -> None:
    """A process that knows nothing of that has the text; what makes no sentence is no reason."""
    reason = condense.say(
        "{error} The provider said: {said}", error=condense.noop("No."), said="a b"
    )
    told = [RetryScheduled(reason, 1.0, 1, 2), TurnEnded("Failed.", "error", reason)]
    for heard in decode(encode(told)):
        assert heard.reason.to_json() == reason.to_json()
    for name, fields in orjson.loads(encode(told)):
        assert fields["reason"] == str(reason)
        (heard,) = decode(orjson.dumps([[name, fields | {"made_of": ["{0}"]}]]))
        assert type(heard.reason) is str
        assert heard.reason == reason
