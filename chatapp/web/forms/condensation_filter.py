"""The filter of the list of condensations: words, names, days, outcome and order."""

from datetime import date, datetime, time, tzinfo
from operator import itemgetter
from typing import Any, cast

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from chatapp.models import Condensation
from chatapp.models.condensations import CondensationQuerySet
from chatapp.models.fields import contains
from chatapp.page.transcript import labels

# Attempts that are named one by one in a query.
MOST_NAMED = 1_000
ORDERS = [
    ("", _("newest first")),
    ("saved", _("tokens saved")),
    ("cost", _("cost")),
    ("duration", _("duration")),
]
_DAY: Any = {
    "required": False,
    "widget": forms.DateInput({"type": "date"}, "%Y-%m-%d"),
    # The first and the last year are an error in some time zone.
    "validators": [MinValueValidator(date(2, 1, 1)), MaxValueValidator(date(9998, 12, 31))],
}


class AttemptFilter(forms.Form):
    """Narrows a list of attempts, by days of a ``zone``; an invalid value narrows nothing."""

    text = forms.CharField(label=_("text in the summary"), max_length=200, required=False)
    title = forms.CharField(label=_("conversation"), max_length=200, required=False)
    profile = forms.ChoiceField(label=_("profile"), required=False)
    strategy = forms.ChoiceField(required=False, widget=forms.HiddenInput)
    trigger = forms.ChoiceField(
        choices=[("", _("any")), *Condensation.Trigger.choices],
        required=False,
        widget=forms.HiddenInput,
    )
    since = forms.DateField(label=_("from"), **_DAY)
    until = forms.DateField(label=_("to"), **_DAY)
    outcome = forms.ChoiceField(
        choices=Condensation.Outcome.choices, required=False, widget=forms.HiddenInput
    )
    conversation = forms.UUIDField(required=False, widget=forms.HiddenInput)
    sort = forms.ChoiceField(choices=ORDERS, required=False, widget=forms.HiddenInput)

    def __init__(self, mine: CondensationQuerySet, data: QueryDict, zone: tzinfo) -> None:
        super().__init__(data)
        self.zone = zone
        pairs = [*mine.order_by().values_list("profile_name", "strategy").distinct()]
        found = {
            "profile": {(profile, profile) for profile, _strategy in pairs},
            "strategy": {(one, labels.strategy_name(one)) for _profile, one in pairs},
        }
        for name, choices in found.items():
            field = cast("forms.ChoiceField", self.fields[name])
            field.choices = [("", _("any")), *sorted(choices, key=itemgetter(1))]
        self.full_clean()
        self.chosen = {name: value for name, value in self.cleaned_data.items() if value}

    @property
    def kept(self) -> list[tuple[str, Any]]:
        """The chosen values of hidden fields, by name, for the form to send along."""
        hidden = (field.name for field in self.hidden_fields())
        return [(name, self.chosen[name]) for name in hidden if name in self.chosen]

    @property
    def narrows(self) -> bool:
        """True if anything but the outcome and the order is chosen."""
        return bool(self.chosen.keys() - {"outcome", "sort"})

    @property
    def more_fields(self) -> list[forms.BoundField]:
        """The fields that can be seen, but for the text."""
        return self.visible_fields()[1:]

    @property
    def fills_more_fields(self) -> bool:
        """True if one of these fields has a value."""
        return any(field.name in self.chosen for field in self.more_fields)

    def narrow(self, attempts: CondensationQuerySet) -> CondensationQuerySet:
        """Return the attempts that match, with any outcome."""
        wanted = Q()
        for name, value in self.chosen.items():
            match name:
                case "title":
                    wanted &= contains("conversation__title", value)
                case "profile":
                    wanted &= Q(profile_name=value)
                case "strategy" | "trigger" | "conversation":
                    wanted &= Q((name, value))
                case "since":
                    begins = datetime.combine(value, time.min, self.zone)
                    wanted &= Q(started_at__gte=begins)
                case "until":
                    # Where clocks are set back, a day may end with the same hour twice.
                    ends = datetime.combine(value, time.max.replace(fold=1), self.zone)
                    wanted &= Q(started_at__lte=ends)
                case "text":
                    wanted &= contains("summary", value)
        found = attempts.filter(wanted)
        if "text" not in self.chosen:
            return found
        # A few attempts are named by key, so that the summaries are searched once, and not again
        # for the totals. Without the owner: else SQLite would read all attempts of theirs.
        few = list(found.order_by().values_list("pk", flat=True)[: MOST_NAMED + 1])
        return found if len(few) > MOST_NAMED else Condensation.objects.filter(pk__in=few)
