"""Condensing points: one sentence for where a context is made smaller; whose threshold it is."""

import math
from dataclasses import dataclass
from typing import Self

from django.utils.translation import gettext_lazy as _

import condense
from chatapp.models import Condensation
from chatapp.number_formats import number

# With the same names in braces a script fills them in; see templatetags/scripts.py.
CONDENSES = _("Condenses at {at} tokens ({percent} % of the window; {free} kept free)")
TRUNCATES = _(
    "Truncates at {at} tokens ({percent} % of the window; {free} kept free): "
    "automatic condensing is off"
)
# Whose a threshold is, by the source that its resolver gave; an operator's may give any.
SOURCES = {
    "profile": _("Profile"),
    "global": _("Settings"),
    "adaptive": _("Settings, adapted to the conversation"),
}


def source_label(source: str) -> str:
    """Return where a threshold was set, in words."""
    return str(SOURCES.get(source, _("The server's configuration")))


@dataclass(frozen=True, slots=True)
class CondensingPoint:
    """The tokens ``at`` which a window is condensed, or truncated where nothing is automatic.

    ``percent`` is their share of the whole window.
    """

    at: int
    window: int
    percent: float
    automatic: bool = True

    @classmethod
    def of_budget(cls, budget: condense.Budget, *, automatic: bool) -> Self:
        """Return what holds for a budget: the user's percentage, or where a request is too long."""
        allowed = max(0, math.floor(budget.allowed))
        at = min(budget.condenses_at, allowed) if automatic else allowed
        return cls(at, budget.window, budget.percent(at), automatic)

    @classmethod
    def of_attempt(cls, attempt: Condensation) -> Self:
        """Return what held when an attempt was made."""
        window = attempt.context_window
        at = max(0, min(math.ceil(window * attempt.threshold / 100), attempt.allowed))
        return cls(at, window, 100 * at / window if window else 0.0)

    def __str__(self) -> str:
        """Say it, with numbers as the reader writes them."""
        return str(CONDENSES if self.automatic else TRUNCATES).format(
            at=number(self.at),
            percent=number(self.percent),
            free=number(max(0, self.window - self.at)),
        )
