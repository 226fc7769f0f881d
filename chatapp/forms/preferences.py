"""Preferences: how condensing and the agent work for one user."""

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.conf import settings
from django.core.validators import MaxLengthValidator
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.forms.prompts import LONGEST_PROMPT, own_prompt
from chatapp.forms.thresholds import threshold_field
from chatapp.models import Preferences

if TYPE_CHECKING:
    PreferencesModelForm = forms.ModelForm[Preferences]
else:
    # Generic for the type checker only.
    PreferencesModelForm = forms.ModelForm


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


class PreferencesForm(PreferencesModelForm):
    """How condensing and the agent work, wherever a profile has no own value."""

    strategy = forms.ChoiceField(
        label=_("Strategy"), choices=strategy_choices, widget=forms.RadioSelect, required=False
    )

    threshold = threshold_field(label=_("Threshold (%)"))

    class Meta:
        model = Preferences
        fields = (
            "auto_condense",
            "threshold",
            "adaptive",
            "strategy",
            "messages_kept",
            "keep_first",
            "clear_tool_output",
            "review_automatic",
            "review_seconds",
            "draft_ahead",
            "draft_share",
            "condense_idle",
            "condensing_prompt",
            "step_limit",
            "month_budget",
            "environment_details",
            "name_conversations",
            "shortcuts",
        )
        labels: ClassVar[dict[str, Any]] = {
            "auto_condense": _("Condense automatically"),
            "adaptive": _("Adapt the threshold to the conversation"),
            "messages_kept": _("Messages to keep"),
            "keep_first": _("Keep the first message too"),
            "clear_tool_output": _("Clear superseded tool output first"),
            "review_automatic": _("Review before it applies"),
            "review_seconds": _("Seconds until it applies by itself"),
            "draft_ahead": _("Draft summaries in the background"),
            "condense_idle": _("Condense while idle, where that is cheaper"),
            "draft_share": _("From this share of the threshold on (%)"),
            "condensing_prompt": _("Condensing prompt"),
            "step_limit": _("Steps per turn"),
            "month_budget": _("Budget per month (USD)"),
            "environment_details": _("Tell the agent about its surroundings"),
            "name_conversations": _("Let the model name conversations"),
            "shortcuts": _("Keyboard shortcuts"),
        }
        widgets: ClassVar[dict[str, forms.Widget]] = {
            "condensing_prompt": forms.Textarea(attrs={"rows": 14, "spellcheck": "false"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Show the default prompt where none of the user's own is stored."""
        super().__init__(*args, **kwargs)
        if not self.initial.get("condensing_prompt"):
            self.initial["condensing_prompt"] = default_prompt()
        self.fields["condensing_prompt"].validators.append(MaxLengthValidator(LONGEST_PROMPT))
        # Hidden, and so perhaps empty, unless the strategy asks for it.
        self.fields["messages_kept"].required = False
        self.fields["review_seconds"].required = False
        for name in ("draft_ahead", "draft_share"):
            self.fields[name].required = False
        self.initial["strategy"] = self.instance.strategy or settings.CONDENSE_STRATEGY

    @property
    def strategies_with_messages(self) -> list[str]:
        """The choices that the number of messages to keep belongs to."""
        return [one.name for one in condense.known_strategies() if "messages" in one.takes]

    def clean_strategy(self) -> str:
        """Store nothing where the choice is the server's: it then follows the server."""
        chosen: str = self.cleaned_data["strategy"]
        return "" if chosen == settings.CONDENSE_STRATEGY else chosen

    def clean_messages_kept(self) -> int:
        """Return the number, the stored one where none was entered."""
        return self.cleaned_data["messages_kept"] or self.instance.messages_kept

    def clean_review_seconds(self) -> int:
        """Return the number, the stored one where none was entered."""
        return self.cleaned_data["review_seconds"] or self.instance.review_seconds

    def clean_draft_ahead(self) -> str:
        """Return the choice, the stored one where none was sent."""
        return self.cleaned_data["draft_ahead"] or self.instance.draft_ahead

    def clean_draft_share(self) -> int:
        """Return the number, the stored one where none was entered."""
        return self.cleaned_data["draft_share"] or self.instance.draft_share

    def clean_condensing_prompt(self) -> str:
        """Store nothing where the text is the default."""
        return own_prompt(self.cleaned_data["condensing_prompt"], default_prompt())
