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


FAILED = condense.say("It failed: {error}", error="Nothing was said.")
TOOK = condense.say("{name} took {size:,} of {most:,} tokens", name="2,5", size=1_200, most=9)


def dotted(value: int) -> str:
    """Write a number as in German."""
    return f"{value:,}".replace(",", ".")


@pytest.mark.parametrize(
    ("said", "retold"),
    [
        ("Nothing was said.", "Nichts wurde gesagt."),
        ("A provider's own words.", "A provider's own words."),
        (condense.say("It failed: {error}", error="502"), "Das ist gescheitert: 502"),
        (FAILED, "Das ist gescheitert: Nichts wurde gesagt."),
        (TOOK, "9 Token, davon 1.200 für 2,5"),
        (condense.say("{name!r} is {value:.3}", name="ab", value="12345"), "123 hat 'ab'"),
    ],
)
def test_a_sentence_is_retold_with_its_values(said: str, retold: str) -> None:
    """Numbers as the language writes them, and sentences within sentences; others stay."""
    assert condense.Phrasebook(GERMAN, dotted).retell(said) == retold


@pytest.mark.parametrize(
    ("said", "retold"),
    [
        ("Checked: sections 100%, refusal", "Geprüft: Abschnitte 100 % und Verweigerung"),
        ("Checked: own 50%, refusal", "Geprüft: own 50 % und Verweigerung"),
        ("refusal: It declines", "Verweigerung: Abgelehnt"),
        ("Some words of mine, refusal: no", "Some words of mine, refusal: no"),
        ("Own words, 50%", "Own words, 50%"),
    ],
)
def test_a_list_is_retold_one_by_one(said: str, retold: str) -> None:
    """What is known of it, and listed as the language does."""
    german = {
        "Checked: {checks}": "Geprüft: {checks}",
        "{check} {share:.0%}": "{check} {share:.0%}",
        "{check}: {issue}": "{check}: {issue}",
        "sections": "Abschnitte",
        "refusal": "Verweigerung",
        "It declines": "Abgelehnt",
    }
    assert (
        condense.Phrasebook(german, listed=" und ".join, percent="{} %".format).retell(said)
        == retold
    )


# Of several scripts, what templates are made of, and what ends a line.
SIGNS = "aZ1é端ش😀 .,:;!?%{}[]()*+^$|\\'\"\0\t\r\n\x0b\x85\u2028"


@given(name=st.text(SIGNS), size=st.integers(), most=st.integers(0))
def test_no_value_is_lost(name: str, size: int, most: int) -> None:
    """Whatever a value holds, the sentence comes back as it was said."""
    template = "{name} took {size:,} of {most:,} tokens"
    said = condense.say(template, name=name, size=size, most=most)
    assert condense.Phrasebook({template: template}).retell(said) == said


def test_of_several_templates_the_one_with_the_most_words_of_its_own_is_found() -> None:
    """Whatever order they are known in."""
    known = {"{a} of {b}": "{b}s {a}", "{a} of {b}, again": "noch einmal {b}s {a}"}
    for templates in (known, dict(reversed(known.items()))):
        assert condense.Phrasebook(templates).retell("1 of 2, again") == "noch einmal 2s 1"


@pytest.mark.parametrize(
    ("template", "translation", "said", "retold"),
    [
        ("No (more) of {a}", "Nichts von {a}", "No (more) of 1", "Nichts von 1"),
        ("Why? {a}", "Warum? {a}", "Wh {a}", "Wh {a}"),
        ("{size:,} fewer", "{size:,} weniger", "-1,200 fewer", "-1.200 weniger"),
        ("It failed: {a}", "Gescheitert: {a}", "It failed: ", "Gescheitert: "),
        ("It failed: {a}", "Gescheitert: {a}", "It failed: 1\n2", "Gescheitert: 1\n2"),
        ("It failed: {a}", "Gescheitert: {a}", "it failed: 1", "it failed: 1"),
    ],
)
def test_a_template_is_words_and_values(
    template: str, translation: str, said: str, retold: str
) -> None:
    """Of words each letter counts; a value may be empty, have lines, or be less than nothing."""
    assert condense.Phrasebook({template: translation}, dotted).retell(said) == retold


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("It failed: {said}", "It failed: Nothing was said."),
        ("{name} is missing.", "The answer to your question is missing."),
        ("{name}: {reason}", "Error: it is somebody's."),
        ("{size:,} fewer", ", fewer"),
        ("{size:,} fewer", f"{'9' * 400} fewer"),
        ("{size:,} fewer", "1,2 fewer"),
    ],
)
def test_what_others_said_stays_as_it_was_said(template: str, said: str) -> None:
    """Of a value that is no sentence of ours, and of a text that only looks like one of ours."""
    book = condense.Phrasebook({"Nothing was said.": "Nichts.", template: f"» {template}"})
    assert book.retell(said).removeprefix("» ") == said


@pytest.mark.parametrize(
    "said",
    ["a" + " is a, not a number from  to" * 4_000, "k: v\n" * 4_000, "It failed: " * 4_000],
)
def test_a_text_that_looks_like_many_sentences_is_soon_told(said: str) -> None:
    """It can be anybody's, and nobody else is served meanwhile."""
    hard = "{name} is {value:.40}, not a number from {least} to {most}: not used."
    known = {hard: hard, "{name}: {reason}": "{name} : {reason}", "It failed: {error}": "{error}!"}
    told = condense.Phrasebook(known).retell(said)
    assert told.rstrip("!") == said.removeprefix("It failed: " * told.count("!"))
