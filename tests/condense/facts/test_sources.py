"""Sources: the messages behind a sentence of a summary."""

import pytest

from condense.facts.sources import sources_of
from condense.messages import Message
from tests.condense.sessions import Session

TALK = (
    Session()
    .says("We must move the billing database (212 GB) to eu-west-1. No downtime for readers.")
    .says("The nightly window is 40 minutes, from 02:10. Can we deploy on Fridays?")
    .says("The file config/replica.yml has port 5433 now.")
    .messages
)


@pytest.mark.parametrize(
    ("sentence", "sources", "unsupported"),
    [
        ("1. Intent: move the billing database (212 GB).", ("m1",), False),
        ("- The window is 40 minutes from 02:10.", ("m2",), False),
        ("- You want no downtime for readers.", ("m1",), False),
        # A rule needs a sentence that demands it, and a question does not.
        ("- You must never deploy on Fridays.", ("m2",), True),
        ("- Always answer in French.", (), True),
        # Its words and its figure are of two messages.
        ("- The billing database moves to eu-west-1 at 02:10.", ("m1",), False),
        # A figure that nobody said.
        ("- The nightly window is 30 minutes.", ("m2",), True),
        ("- Three consultants came from Prague.", (), True),
        ("- `config/replica.yml` has port 5433.", ("m3",), False),
        ("2. Constraints and Preferences:", (), False),
        ("None", (), False),
    ],
)
def test_a_sentence_has_the_messages_that_say_it(
    sentence: str, sources: tuple[str, ...], unsupported: bool
) -> None:
    """A figure, a rule or words that no message has are unsupported; a heading states nothing."""
    summary = f"What the user and the agent did is in this list.\n{sentence}"
    (found,) = sources_of(summary, TALK)[1:]
    assert (found.text, summary[found.start :]) == (sentence, sentence)
    assert (found.sources, found.unsupported) == (sources, unsupported)


def test_another_source_needs_three_fifths_of_what_the_best_has() -> None:
    """Also where it has none of the rarest words; one with less is none."""
    said = ("Zanzibar cobalt lantern orchid harvest.", "lantern orchid harvest", "lantern orchid")
    talk = [Message("user", text, id=str(number)) for number, text in enumerate(said)]
    assert sources_of(said[0], talk)[0].sources == ("0", "1")


def test_words_of_another_language_prove_nothing() -> None:
    """A German summary of English talk has its figures checked, and an earlier summary counts."""
    german = "Die Datenbank ist nicht klein und zieht um. Das Fenster ist 40 Minuten lang."
    assert [one.unsupported for one in sources_of(german, TALK)] == [False, False]
    assert [one.unsupported for one in sources_of(german.replace("40", "35"), TALK)][1]
    earlier = TALK[0].with_tags(condense_id="c")
    assert sources_of("Move the billing database now.", [earlier])[0].sources == ("m1",)
    assert sources_of("Move the billing database now.", [])[0].sources == ()
    assert not sources_of("", [Message("user", "")])
