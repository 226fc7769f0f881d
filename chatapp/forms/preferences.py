"""Preferences: how condensing and the agent work for one user."""

from itertools import chain
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.validators import MaxLengthValidator
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.forms.base import ModelForm
from chatapp.forms.prompts import LONGEST_PROMPT, own_prompt
from chatapp.forms.thresholds import threshold_field
from chatapp.models import Preferences

# Settings by the section of the page that shows them, in their order.
SECTIONS = {
    "condensing": (
        "auto_condense",
        "threshold",
        "adaptive",
        "draft_ahead",
        "draft_share",
        "condense_idle",
        "review_automatic",
        "review_seconds",
    ),
    "tool_output": ("clear_tool_output",),
    "agent": ("step_limit", "environment_details", "name_conversations"),
    "budget": ("month_budget",),
    "keyboard": ("shortcuts",),
}
# Settings that have a place of their own on the page.
PLACED = ("strategy", "messages_kept", "keep_first", "condensing_prompt")
# Settings that may be missing from what is sent: the page hides them where they change nothing.
KEPT = ("messages_kept", "review_seconds", "draft_ahead", "draft_share")


def default_prompt() -> str:
    """Return the condensing prompt that is used where the user wrote none."""
    beside_ledger = settings.CONDENSE_DEFAULT_HOOKS
    key = condense.BESIDE_LEDGER if beside_ledger else condense.CONDENSE
    return condense.condense_instruction(key=key)


def strategy_choices() -> list[tuple[str, Any]]:
    """Return the strategies to choose from, the server's own one among them."""
    known = [
        (one.name, f"{_(one.label)}: {_(one.description)}")
        for one in condense.known_strategies()
        if one.kind != "cleared"
    ]
    own = settings.CONDENSE_STRATEGY
    if own in dict(known):
        return known
    return [(own, _("%(path)s: this server's own strategy.") % {"path": own}), *known]


class PreferencesForm(ModelForm[Preferences]):
    """How condensing and the agent work, wherever a profile has no own value."""

    strategy = forms.ChoiceField(
        label=_("Strategy"), choices=strategy_choices, widget=forms.RadioSelect, required=False
    )
    threshold = threshold_field(label=_("Threshold (%)"))

    class Meta:
        model = Preferences
        fields = (*chain(*SECTIONS.values()), *PLACED)
        widgets: ClassVar[dict[str, forms.Widget]] = {
            "condensing_prompt": forms.Textarea(attrs={"rows": 14, "spellcheck": "false"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Show the default prompt where none of the user's own is stored."""
        super().__init__(*args, **kwargs)
        if not self.initial.get("condensing_prompt"):
            self.initial["condensing_prompt"] = default_prompt()
        self.fields["condensing_prompt"].validators.append(MaxLengthValidator(LONGEST_PROMPT))
        for name in KEPT:
            self.fields[name].required = False
        self.initial["strategy"] = self.instance.strategy or settings.CONDENSE_STRATEGY

    @property
    def sections(self) -> dict[str, list[forms.BoundField]]:
        """The settings of each section, for the template."""
        return {name: [self[one] for one in names] for name, names in SECTIONS.items()}

    @property
    def strategies_with_messages(self) -> list[str]:
        """The choices that the number of messages to keep belongs to."""
        return [one.name for one in condense.known_strategies() if "messages" in one.takes]

    def clean_strategy(self) -> str:
        """Store nothing where the choice is the server's: it then follows the server."""
        chosen: str = self.cleaned_data["strategy"]
        return "" if chosen == settings.CONDENSE_STRATEGY else chosen

    def clean_condensing_prompt(self) -> str:
        """Store nothing where the text is the default."""
        return own_prompt(self.cleaned_data["condensing_prompt"], default_prompt())

    def clean(self) -> dict[str, Any]:
        """Keep the stored value of a setting that was not sent because it is hidden."""
        cleaned = super().clean() or self.cleaned_data
        hidden = [name for name in KEPT if name in cleaned and not cleaned[name]]
        return cleaned | {name: getattr(self.instance, name) for name in hidden}
