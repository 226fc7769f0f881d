"""Thresholds: the number field, and a profile's own value or none."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.context import budgets
from chatapp.forms.base import ModelForm
from chatapp.models import Preferences, Profile

OWN, INHERITED = "own", "inherit"
OUT_OF_RANGE = _("Enter a number from %(least)d to %(most)d.") % {
    "least": condense.MIN_THRESHOLD,
    "most": condense.MAX_THRESHOLD,
}


def threshold_field(**kwargs: Any) -> forms.IntegerField:
    """Return a number field for a percentage that the condenser accepts."""
    return forms.IntegerField(
        min_value=condense.MIN_THRESHOLD,
        max_value=condense.MAX_THRESHOLD,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        error_messages={"min_value": OUT_OF_RANGE, "max_value": OUT_OF_RANGE},
        **kwargs,
    )


class ThresholdChoice(ModelForm[Profile]):
    """A profile's threshold: the global one, or its own value and the way back."""

    mode = forms.ChoiceField(
        label=_("Condensing threshold"),
        choices=[(INHERITED, _("Inherit")), (OWN, _("Own value"))],
        widget=forms.RadioSelect,
    )
    own_threshold = threshold_field(label=_("Own value"), required=False)

    class Meta:
        model = Profile
        fields: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Show the stored choice."""
        super().__init__(*args, **kwargs)
        inherits = self.instance.threshold == condense.INHERIT
        self.initial.setdefault("mode", INHERITED if inherits else OWN)
        self.initial.setdefault("own_threshold", None if inherits else self.instance.threshold)

    def limits(self) -> dict[str, int] | None:
        """Return the window and what a request may hold at most, in tokens."""
        profile = self.instance
        if not profile.context_window:
            return None
        budget = budgets.budget_for(profile, Preferences())
        return {"window": profile.context_window, "allowed": max(0, int(budget.allowed))}

    def clean(self) -> dict[str, Any]:
        """Take the number where an own value was chosen, and ask for it when it is missing."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("mode") != OWN:
            self.instance.threshold = condense.INHERIT
        elif (own := cleaned.get("own_threshold")) is not None:
            self.instance.threshold = own
        elif "own_threshold" not in self.errors:
            self.add_error("own_threshold", OUT_OF_RANGE)
        return cleaned
