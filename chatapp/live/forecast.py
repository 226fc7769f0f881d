"""What pressing "Condense" would hide, for whoever is about to."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

import condense


@dataclass(frozen=True, slots=True)
class Forecast:
    """How much a condensation may hide, counted as people see it; ``nothing`` says why none."""

    messages: int = 0
    results: int = 0
    nothing: str = ""


def forecast(history: Sequence[condense.Message]) -> Forecast:
    """Return what the model has read of the effective history: no strategy hides more unasked."""
    read = history[: condense.unread_tail(history)]
    try:
        condense.require_enough(history, read)
    except condense.NothingToCondense:
        return Forecast(nothing=_why_not(history))
    said = [one for one in read if not (one.is_summary or one.is_marker)]
    return Forecast(
        messages=sum(not one.tool_results for one in said),
        results=sum(len(one.tool_results) for one in said),
    )


def _why_not(history: Sequence[condense.Message]) -> str:
    if any(one.is_summary for one in history):
        return _("Too little was said since the last condensation to condense again.")
    return _("There is nothing to condense yet: the model has read nothing that could be hidden.")
