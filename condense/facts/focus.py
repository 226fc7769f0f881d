"""Focus: the hidden sentence that a person asked to keep, and if a summary keeps it."""

from collections.abc import Sequence
from dataclasses import dataclass

from condense.facts.quotes import quotes_in
from condense.facts.texts import Shown, plain_text, sentences
from condense.messages import Message
from condense.recall.words import Term, fold, terms_of


@dataclass(frozen=True, slots=True)
class FocusFound:
    """The ``sentence`` that fits a focus best; it is ``kept`` if its figures are still read."""

    sentence: str
    kept: bool


def find_focus(focus: str, hidden: Sequence[Message], kept: Sequence[Message]) -> FocusFound | None:
    """Return the sentence that a focus asks for, None if no hidden message has one.

    Of sentences that fit alike, the one with most figures and names is meant. Without any, it is
    kept if the words that fit are.
    """
    terms = [one for one in terms_of(focus) if one.kind != "common"]
    said = sentences(plain_text([one for one in hidden if not one.is_summary]))
    found = max(said, key=lambda one: (len(_in(terms, one)), len([*quotes_in(one)])), default="")
    if not (fitting := _in(terms, found)):
        return None
    text, quotes = plain_text(kept), [*quotes_in(found)]
    shown = Shown(text)
    has_figures = all(any(map(shown.says, one.spellings)) for one in quotes)
    return FocusFound(found, has_figures if quotes else len(_in(fitting, text)) == len(fitting))


def _in(terms: Sequence[Term], text: str) -> list[Term]:
    folded = fold(text)
    return [one for one in terms if any(one.places(folded))]
