"""Sentences of the record are English, and are said in another language by their templates."""

import copy
import json
import pickle
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import condense
from condense import Sentence, noop, say

GERMAN = {
    "Nothing was said.": "Nichts wurde gesagt.",
    "It failed: {error}": "Das ist gescheitert: {error}",
    "{name} took {size:,} of {most:,} tokens": "{most:,} Token, davon {size:,} für {name}",
    "Checked: {checks}": "Geprüft: {checks}",
    "refusal": "Verweigerung",
}
NOTHING = noop("Nothing was said.")
FAILED = say("It failed: {error}", error=NOTHING)


def in_german(template: str, values: Mapping[str, Any]) -> str:
    """Return a template in German with the values; a list has "und" between its parts."""
    listed = {
        name: " und ".join(one) if isinstance(one, list) else one for name, one in values.items()
    }
    german = GERMAN.get(template, template)
    return german.format(**listed) if values else german


@pytest.mark.parametrize(
    ("said", "english", "german"),
    [
        (NOTHING, "Nothing was said.", "Nichts wurde gesagt."),
        ("Nothing was said.", "Nothing was said.", "Nichts wurde gesagt."),
        ("A provider's own {words}.", "A provider's own {words}.", "A provider's own {words}."),
        (say("It failed: {error}", error="502"), "It failed: 502", "Das ist gescheitert: 502"),
        (FAILED, "It failed: Nothing was said.", "Das ist gescheitert: Nichts wurde gesagt."),
        (
            say("It failed: {error}", error="Nothing was said."),
            "It failed: Nothing was said.",
            "Das ist gescheitert: Nothing was said.",
        ),
        (
            say("It failed: {error}", error=ValueError(NOTHING)),
            "It failed: Nothing was said.",
            "Das ist gescheitert: Nichts wurde gesagt.",
        ),
        (
            say("{name} took {size:,} of {most:,} tokens", name="my notes", size=1_200, most=9),
            "my notes took 1,200 of 9 tokens",
            "9 Token, davon 1,200 für my notes",
        ),
        (
            say("Checked: {checks}", checks=[noop("refusal"), "refusal"]),
            "Checked: refusal, refusal",
            "Geprüft: Verweigerung und refusal",
        ),
    ],
)
def test_a_sentence_is_english_and_is_said_anew_with_its_values(
    said: str, english: str, german: str
) -> None:
    """Sentences among the values too; texts stay, also those that are like a sentence."""
    assert said == english
    assert condense.retell(said, in_german) == german


# Of several scripts, what templates are made of, and what ends a line.
SIGNS = "aZ1é端ش😀\u202e .,:;!?%{}[]()*+^$|\\'\"\0\t\r\n\x0b\x85\u2028"
TEXTS = st.text(SIGNS) | st.sampled_from([*GERMAN, "{error}", "%(a)s"])
NUMBERS = st.integers() | st.floats()
VALUES = st.recursive(
    TEXTS | NUMBERS | TEXTS.map(noop),
    lambda some: (
        st.lists(some)
        | st.builds(lambda one: say("It failed: {error}", error=one), some)
        | st.builds(lambda a, b: say("{a} of {b!r}", a=a, b=b), some, some)
    ),
    max_leaves=5,
)


@given(VALUES)
def test_no_value_is_lost(value: Any) -> None:
    """What is stored as JSON, copied or pickled is the same sentence, whatever a value holds."""
    said = say("It failed: {error}", error=value)
    for one in (
        Sentence.from_json(json.loads(json.dumps(said.to_json(), allow_nan=False))),
        copy.deepcopy(said),
        pickle.loads(pickle.dumps(said)),  # noqa: S301 - our own
    ):
        assert (str(one), one.to_json()) == (str(said), said.to_json())
    assert type(str(ValueError(said))) is Sentence


@pytest.mark.parametrize(
    "data",
    [
        "It failed.",
        ["It failed.", {}],
        {"template": "It failed."},
        {"template": 1, "values": {}},
        {"template": "It failed: {error}", "values": []},
        *[
            {"template": template, "values": values}
            for template, values in (
                ("It failed: {error}", {"error": None}),
                ("It failed: {error}", {"error": {"a": 1}}),
                ("It failed: {error}", {"other": "1"}),
                ("It failed: {error}", {"error": {"template": "{a.b}", "values": {"a": "1"}}}),
                ("{error.__class__}", {"error": "1"}),
                ("{error[0]}", {"error": "1"}),
                ("{error:9999999999}", {"error": "1"}),
                ("{error:{error}}", {"error": "1"}),
                ("{error}{error}", {"error": "1"}),
                ("{size:,}", {"size": "many"}),
                ("{", {"size": 1}),
                ("{}", {"": 1}),
                ("{0}", {"0": 1}),
            )
        ],
    ],
)
def test_what_is_no_sentence_is_refused(data: Any) -> None:
    """A stored template can neither look into its values, nor make much of little."""
    with pytest.raises(ValueError, match="no sentence"):
        Sentence.from_json(data)


def test_texts_within_a_sentence_are_changed_and_its_own_words_stay() -> None:
    """As where a key is blotted out, or half a character is mended."""
    said = say(
        "An error: {error}", error=say("{said} or {said!r}: {all}", said="an e", all=["e", 1])
    )
    changed = condense.change_texts(said, lambda text: text.replace("e", "*"))
    assert changed == "An error: an * or 'an *': *, 1"
    assert condense.change_texts("an e", str.upper) == "AN E"
    assert condense.well_formed_json(say("a {b}", b="\ud83d")).values == {"b": "\ufffd"}
    assert [*condense.templates_in(said)] == ["An error: {error}", "{said} or {said!r}: {all}"]
