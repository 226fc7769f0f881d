"""Preferences: a user's settings of condensing and the agent."""

from itertools import chain
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.validators import EMPTY_VALUES, MaxLengthValidator
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.conversations.context import turn_context
from chatapp.conversations.context.sizes import source_label
from chatapp.models import Preferences, Profile
from chatapp.models.preferences import LONGEST_PROMPT
from chatapp.project.languages import NAMES, in_words
from chatapp.web.forms import ModelForm

OWN, INHERITED = "own", "inherit"
VALUE_OUT_OF_RANGE = format_lazy(
    _("Enter a number from {least} to {most}."),
    least=condense.MIN_THRESHOLD,
    most=condense.MAX_THRESHOLD,
)


def threshold_field(**kwargs: Any) -> forms.IntegerField:
    """Return a number field for a percentage that the condenser accepts."""
    return forms.IntegerField(
        min_value=condense.MIN_THRESHOLD,
        max_value=condense.MAX_THRESHOLD,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        error_messages={"min_value": VALUE_OUT_OF_RANGE, "max_value": VALUE_OUT_OF_RANGE},
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
        super().__init__(*args, **kwargs)
        inherits = self.instance.threshold == condense.INHERIT
        self.initial.setdefault("mode", INHERITED if inherits else OWN)
        self.initial.setdefault("own_threshold", None if inherits else self.instance.threshold)

    def limits(self) -> dict[str, int] | None:
        """Return the tokens of the window, and the most of a request and of a reply."""
        profile = self.instance
        if not profile.context_window:
            return None
        budget = turn_context.budget_for(profile, Preferences())
        allowed = max(0, int(budget.allowed))
        return {"window": budget.window, "allowed": allowed, "reserved": budget.reserved}

    def clean(self) -> dict[str, Any]:
        """Take the number if an own value was chosen, and ask for it when it is missing."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("mode") != OWN:
            self.instance.threshold = condense.INHERIT
        elif (own := cleaned.get("own_threshold")) is not None:
            self.instance.threshold = own
        elif "own_threshold" not in self.errors:
            self.add_error("own_threshold", VALUE_OUT_OF_RANGE)
        return cleaned


class ProfileChoice(ThresholdChoice):
    """The settings page's part of a profile: its threshold and its condensing prompt."""

    class Meta(ThresholdChoice.Meta):
        fields = ("condensing_prompt",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        named = forms.ModelChoiceField(
            self.instance.owner.condensing_prompts, required=False, empty_label=_("Default")
        )
        self.fields["condensing_prompt"] = named

    @property
    def source(self) -> str:
        """The source of the threshold in force, in a word."""
        preferences = self.instance.owner.preferences
        source = turn_context.budget_for(self.instance, preferences).threshold_source
        return source_label("adaptive" if source == "global" and preferences.adaptive else source)


def own_prompt(text: str, default: str) -> str:
    """Return the text to store: "" for the default, so that a better default takes effect."""
    text = "\n".join(text.strip().splitlines())
    return "" if text == default else text


def prompt_field(label: Any, rows: int = 12) -> forms.CharField:
    """Return a field for a prompt."""
    return forms.CharField(
        label=label,
        required=False,
        max_length=LONGEST_PROMPT,
        widget=forms.Textarea(attrs={"rows": rows, "spellcheck": "false"}),
    )


# Settings by the section of the page that shows them, in their order.
SETTINGS_SECTIONS = {
    "general": ("language", "about_me", "shortcuts", "name_conversations"),
    "context": ("auto_condense", "threshold"),
    "timing": ("adaptive", "draft_ahead", "draft_share", "condense_idle"),
    "review": ("review_automatic", "review_seconds"),
    "summaries": (
        "clear_tool_output",
        "attach_ledger",
        "attach_files",
        "check_summaries",
        "find_contradictions",
    ),
    "truncation": ("stop_when_full", "truncated_percent", "last_messages"),
    "agent": ("step_limit", "environment_details", "auto_recall", "recall_tokens"),
    "budget": ("month_budget",),
}
# Settings that have a place of their own on the page.
PLACED = ("strategy", "messages_kept", "tokens_kept", "keep_first", "condensing_prompt")
# Switches that are sent also when they are off; one that was not sent stays as it is.
SWITCHES = ("attach_ledger", "attach_files", "check_summaries", "find_contradictions")
# Settings that may be missing from a form: the page hides them where they change nothing.
OPTIONAL_FIELDS = (
    *("messages_kept", "review_seconds", "draft_ahead", "draft_share", "recall_tokens"),
    *("truncated_percent", "last_messages", *SWITCHES),
)
# The methods to choose from at once; the others are one click away.
FIRST_METHODS = ("fresh_start", "keep_recent", "ledger")
DASH = " \N{EN DASH} "


def default_prompt(preferences: Preferences) -> str:
    """Return the condensing prompt that is used if the user wrote none."""
    beside_ledger = settings.CONDENSE_DEFAULT_HOOKS and preferences.attach_ledger
    key = condense.BESIDE_LEDGER if beside_ledger else condense.CONDENSE
    return condense.condense_instruction(key=key)


def _strategies(*, clearing: bool) -> dict[str, tuple[Any, Any]]:
    """Return label and hint of each strategy, the server's own one among them."""
    known = {
        one.name: (capfirst(in_words(one.label)), in_words(one.description))
        for one in condense.known_strategies()
        if clearing or one.kind != "cleared"
    }
    own = settings.CONDENSE_STRATEGY
    return known if own in known else {own: (own, _("this server's own method"))} | known


def strategy_choices(*, clearing: bool = False) -> list[tuple[str, Any]]:
    """Return the strategies to choose from, with their hints."""
    return [
        (name, DASH.join(map(str, said))) for name, said in _strategies(clearing=clearing).items()
    ]


class PreferencesForm(ModelForm[Preferences]):
    """Settings of condensing and the agent, in force unless a profile has its own value."""

    strategy = forms.ChoiceField(
        label=_("Method"), choices=strategy_choices, widget=forms.RadioSelect, required=False
    )
    threshold = threshold_field(label=_("Threshold (%)"))
    language = forms.ChoiceField(
        label=_("Language"), choices=[("", _("As the browser")), *NAMES.items()], required=False
    )
    switches = SWITCHES

    class Meta:
        model = Preferences
        fields = (*chain(*SETTINGS_SECTIONS.values()), *PLACED)
        widgets: ClassVar[dict[str, forms.Widget]] = {
            "about_me": forms.Textarea(attrs={"rows": 5}),
            "condensing_prompt": forms.Textarea(attrs={"rows": 14, "spellcheck": "false"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.initial.get("condensing_prompt"):
            self.initial["condensing_prompt"] = default_prompt(self.instance)
        self.fields["condensing_prompt"].validators.append(MaxLengthValidator(LONGEST_PROMPT))
        for name in OPTIONAL_FIELDS:
            self.fields[name].required = False
        for name in SWITCHES if not settings.CONDENSE_DEFAULT_HOOKS else ():
            self.fields[name].disabled = True
            self.fields[name].help_text = _("Switched off by this server's operator.")
        self.initial["strategy"] = self.instance.strategy or settings.CONDENSE_STRATEGY

    @property
    def sections(self) -> dict[str, list[forms.BoundField]]:
        """The settings of each section, for the template."""
        return {name: [self[one] for one in names] for name, names in SETTINGS_SECTIONS.items()}

    @property
    def methods(self) -> list[dict[str, Any]]:
        """The ways to condense, and which to choose from at once, for the template."""
        takers = [one.name for one in condense.known_strategies() if "messages" in one.takes]
        made, said = [], _strategies(clearing=False)
        for radio in self["strategy"]:
            name = radio.data["value"]
            words = dict(zip(("label", "hint"), said[name], strict=True))
            is_first, asks = name in FIRST_METHODS, name in takers
            made.append({"radio": radio, "is_first": is_first, "asks": asks, **words})
        return made

    def clean_strategy(self) -> str:
        """Store nothing for the server's strategy: the setting then follows the server."""
        chosen: str = self.cleaned_data["strategy"]
        return "" if chosen == settings.CONDENSE_STRATEGY else chosen

    def clean_condensing_prompt(self) -> str:
        """Store nothing for the default text."""
        return own_prompt(self.cleaned_data["condensing_prompt"], default_prompt(self.instance))

    def clean(self) -> dict[str, Any]:
        """Keep the stored value of a setting that was not sent because it is hidden."""
        cleaned = super().clean() or self.cleaned_data
        blank = {name for name in OPTIONAL_FIELDS if cleaned.get(name, True) in EMPTY_VALUES}
        hidden = blank | {name for name in SWITCHES if name not in self.data}
        return cleaned | {name: getattr(self.instance, name) for name in hidden}
