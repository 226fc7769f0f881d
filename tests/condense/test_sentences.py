"""Sentences of the record are English, and are said in another language by their templates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import condense

GERMAN = {
    "Nothing was said.": "Nichts wurde gesagt.",
    "It failed: {error}": "Das ist gescheitert: {error}",
    "{name} took {size:,} of {most:,} tokens": "{most:,} Token, davon {size:,} für {name}",
    "{name!r} is {value:.3}": "{value:.3} hat {name!r}",
}


def dotted(value: int) -> str:
    """Write a number as in German."""
    return f"{value:,}".replace(",", ".")


@pytest.mark.parametrize(
    ("said", "retold"),
    [
        ("Nothing was said.", "Nichts wurde gesagt."),
        ("A provider's own words.", "A provider's own words."),
        (condense.say("It failed: {error}", error="502"), "Das ist gescheitert: 502"),
        (
            condense.say("It failed: {error}", error="Nothing was said."),
            "Das ist gescheitert: Nichts wurde gesagt.",
        ),
        (
            condense.say("{name} took {size:,} of {most:,} tokens", name="2,5", size=1_200, most=9),
            "9 Token, davon 1.200 für 2,5",
        ),
        (condense.say("{name!r} is {value:.3}", name="a b", value="12345"), "123 hat 'a b'"),
    ],
)
def test_a_sentence_is_retold_with_its_values(said: str, retold: str) -> None:
    """Numbers as the language writes them, and sentences within sentences; others stay."""
    assert condense.Phrasebook(GERMAN, dotted).retell(said) == retold


@given(name=st.text(), size=st.integers(), most=st.integers(0))
def test_no_value_is_lost(name: str, size: int, most: int) -> None:
    """Whatever a value holds, the sentence comes back as it was said."""
    template = "{name} took {size:,} of {most:,} tokens"
    said = condense.say(template, name=name, size=size, most=most)
    assert condense.Phrasebook({template: template}).retell(said) == said
