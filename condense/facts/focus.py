"""Focus: the hidden sentence that a person asked to keep, and if a summary keeps it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from condense.facts.quotes import quotes_in
from condense.facts.texts import Shown, plain_text, sentences
from condense.messages import Message
from condense.recall.words import terms_in, terms_of


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
    fits = partial(terms_in, terms)
    found = max(said, key=lambda one: (len(fits(one)), len([*quotes_in(one)])), default="")
    if not (fitting := fits(found)):
        return None
    text, quotes = plain_text(kept), [*quotes_in(found)]
    shown = Shown(text)
    has_figures = all(any(map(shown.says, one.spellings)) for one in quotes)
    return FocusFound(found, has_figures if quotes else terms_in(fitting, text) == fitting)
