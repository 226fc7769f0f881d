"""Forms: what people may enter, and in which bounds."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.forms import modelformset_factory
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.models import Preferences, Profile
from chatapp.models.accounts import HIGHEST_THRESHOLD, INHERIT, LOWEST_THRESHOLD
from chatapp.providers import catalog

if TYPE_CHECKING:
    ProfileModelForm = forms.ModelForm[Profile]
    PreferencesModelForm = forms.ModelForm[Preferences]
else:
    # Generic for the type checker only.
    ProfileModelForm = PreferencesModelForm = forms.ModelForm

LONGEST_PROMPT = 200_000
OWN, INHERITED = "own", "inherit"


def default_prompt() -> str:
    """Return the condensing prompt that is used where the user wrote none."""
    return condense.condense_instruction().strip()


def model_defaults() -> dict[str, dict[str, Any]]:
    """Return limits and prices of known models, as the profile form names its fields."""
    return {
        entry.model: {
            "provider": entry.provider,
            "name": entry.name,
            "fields": {
                "context_window": entry.context_window,
                "max_output": entry.max_output,
                "price_input": plain(entry.price_input),
                "price_output": plain(entry.price_output),
                "price_cache_read": plain(entry.price_cache_read),
                "price_cache_write": plain(entry.price_cache_write),
            },
        }
        for entry in catalog.MODELS
    }


def plain(price: Decimal) -> str:
    """Return a price without trailing zeros, as a person would type it."""
    return f"{price.normalize():f}"


def threshold_field(**kwargs: Any) -> forms.IntegerField:
    """Return a number field for a percentage that the condenser accepts."""
    return forms.IntegerField(
        min_value=LOWEST_THRESHOLD,
        max_value=HIGHEST_THRESHOLD,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        **kwargs,
    )


class NewConversationForm(forms.Form):
    """What a conversation starts with."""

    prompt = forms.CharField(required=False, max_length=LONGEST_PROMPT)
    samples = forms.BooleanField(required=False)
    condense = forms.BooleanField(required=False)


class RenameForm(forms.Form):
    """A conversation's title; an empty one lets the conversation name itself."""

    title = forms.CharField(required=False, max_length=200)


class RewindForm(forms.Form):
    """A place in a conversation, and the condensation it was chosen at, if any."""

    to_seq = forms.IntegerField(min_value=1)
    condensation = forms.UUIDField(required=False)


class ThresholdChoice(ProfileModelForm):
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
        inherits = self.instance.threshold == INHERIT
        self.initial.setdefault("mode", INHERITED if inherits else OWN)
        self.initial.setdefault("own_threshold", None if inherits else self.instance.threshold)

    def limits(self) -> dict[str, int] | None:
        """Return the window and what a request may hold at most, in tokens."""
        profile = self.instance
        if not profile.context_window:
            return None
        budget = condense.Budget(window=profile.context_window, max_output=profile.max_output)
        return {"window": profile.context_window, "allowed": max(0, int(budget.allowed))}

    def clean(self) -> dict[str, Any]:
        """Take the number where an own value was chosen, and ask for it when it is missing."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("mode") != OWN:
            self.instance.threshold = INHERIT
        elif (own := cleaned.get("own_threshold")) is not None:
            self.instance.threshold = own
        elif "own_threshold" not in self.errors:
            self.add_error("own_threshold", _("Enter a number from 5 to 100."))
        return cleaned


ProfileThresholds = modelformset_factory(Profile, form=ThresholdChoice, extra=0)


class ProfileForm(ThresholdChoice):
    """A profile; the key can be set and removed, and is never shown."""

    key = forms.CharField(
        label=_("API key"),
        required=False,
        strip=True,
        max_length=400,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    remove_key = forms.BooleanField(label=_("Remove the stored key"), required=False)

    class Meta:
        model = Profile
        fields = (
            "name",
            "provider",
            "model",
            "base_url",
            "context_window",
            "max_output",
            "price_input",
            "price_output",
            "price_cache_read",
            "price_cache_write",
        )
        widgets: ClassVar[dict[str, forms.Widget]] = {
            "model": forms.TextInput(attrs={"list": "known-models", "autocomplete": "off"}),
            "base_url": forms.URLInput(attrs={"placeholder": "https://api.anthropic.com"}),
        }
        help_texts: ClassVar[dict[str, Any]] = {
            "base_url": _("Leave empty for the provider's own address."),
            "context_window": _("Tokens the model can take in, its answer included."),
            "max_output": _("Tokens kept free for the answer."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Show prices as people write them; a new profile is most likely one for Claude."""
        super().__init__(*args, **kwargs)
        if not self.instance.pk:
            self.initial["provider"] = Profile.Provider.ANTHROPIC
        for name in self.price_names():
            if isinstance(price := self.initial.get(name), Decimal):
                self.initial[name] = plain(price)
            self.fields[name].widget.attrs.update({"step": "any", "inputmode": "decimal"})

    @staticmethod
    def price_names() -> list[str]:
        """Return the fields that hold USD per million tokens."""
        return [name for name in ProfileForm.Meta.fields if name.startswith("price_")]

    def prices(self) -> list[forms.BoundField]:
        """Return the fields that hold USD per million tokens, for the template."""
        return [self[name] for name in self.price_names()]

    def clean_name(self) -> str:
        """Refuse a name that another profile of the owner has."""
        name: str = self.cleaned_data["name"]
        same = Profile.objects.filter(owner=self.instance.owner, name=name)
        if same.exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("You have another profile of this name."))
        return name

    def clean(self) -> dict[str, Any]:
        """Refuse an answer that could not fit into the window."""
        cleaned = super().clean()
        window, output = cleaned.get("context_window"), cleaned.get("max_output")
        if window and output and output >= window:
            self.add_error("max_output", _("This must be less than the context window."))
        return cleaned

    def save(self, commit: bool = True) -> Profile:
        """Store the profile, with the new key or without one where that was asked for."""
        if key := self.cleaned_data["key"]:
            self.instance.set_key(key)
        elif self.cleaned_data["remove_key"]:
            self.instance.set_key("")
        return super().save(commit)


def strategy_choices() -> list[tuple[str, Any]]:
    """Return the strategies to choose from, the server's own one among them."""
    known = [
        ("fresh_start", _("Fresh start: one summary stands for all that the model has read.")),
        (
            "keep_recent",
            _("Keep recent: the newest messages stay word for word after the summary."),
        ),
        ("ledger", _("Ledger: facts copied by rule stand for it; no model is asked.")),
        ("sliding_window", _("Sliding window: the oldest half is hidden, its facts are kept.")),
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

    threshold = threshold_field(
        label=_("Threshold (%)"),
        validators=[MinValueValidator(LOWEST_THRESHOLD), MaxValueValidator(HIGHEST_THRESHOLD)],
    )

    class Meta:
        model = Preferences
        fields = (
            "auto_condense",
            "threshold",
            "strategy",
            "messages_kept",
            "clear_tool_output",
            "condensing_prompt",
            "step_limit",
            "shortcuts",
        )
        labels: ClassVar[dict[str, Any]] = {
            "auto_condense": _("Condense automatically"),
            "messages_kept": _("Messages to keep"),
            "clear_tool_output": _("Clear superseded tool output first"),
            "condensing_prompt": _("Condensing prompt"),
            "step_limit": _("Steps per turn"),
            "shortcuts": _("Keyboard shortcuts"),
        }
        widgets: ClassVar[dict[str, forms.Widget]] = {
            "condensing_prompt": forms.Textarea(
                attrs={"rows": 14, "maxlength": LONGEST_PROMPT, "spellcheck": "false"}
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Show the default prompt where none of the user's own is stored."""
        super().__init__(*args, **kwargs)
        if not self.initial.get("condensing_prompt"):
            self.initial["condensing_prompt"] = default_prompt()
        # Hidden, and so perhaps empty, unless the strategy asks for it.
        self.fields["messages_kept"].required = False
        self.initial["strategy"] = self.instance.strategy or settings.CONDENSE_STRATEGY

    def clean_strategy(self) -> str:
        """Store nothing where the choice is the server's: it then follows the server."""
        chosen: str = self.cleaned_data["strategy"]
        return "" if chosen == settings.CONDENSE_STRATEGY else chosen

    def clean_messages_kept(self) -> int:
        """Return the number, the stored one where none was entered."""
        return self.cleaned_data["messages_kept"] or self.instance.messages_kept

    def clean_condensing_prompt(self) -> str:
        """Store nothing where the text is the default: a better default then reaches the user."""
        text = "\n".join(self.cleaned_data["condensing_prompt"].strip().splitlines())
        return "" if text == default_prompt() else text
