"""What pressing "Condense" would hide, for whoever is about to."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

import condense
from chatapp.models import store
from chatapp.services import Preview
from chatapp.transcript import seen_words


@dataclass(frozen=True, slots=True)
class Forecast:
    """How much a condensation may hide, in words; ``nothing`` says why it would hide none."""

    words: str = ""
    nothing: str = ""


def forecast(history: Sequence[condense.Message]) -> Forecast:
    """Return what the model has read of the effective history: no strategy hides more unasked."""
    read = history[: condense.unread_tail(history)]
    try:
        condense.require_enough(history, read)
    except condense.NothingToCondense:
        return Forecast(nothing=_why_not(history))
    return Forecast(words=seen_words(Preview(**store.count_seen(read))))


def _why_not(history: Sequence[condense.Message]) -> str:
    if any(one.is_summary for one in history):
        return _("Too little was said since the last condensation to condense again.")
    return _("There is nothing to condense yet: the model has read nothing that could be hidden.")
