"""Profiles: the address, key, limits and prices of a model."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar, cast

from django import forms
from django.contrib.auth.models import User
from django.core.validators import MaxValueValidator
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.agent.prompts import SYSTEM_PROMPT
from chatapp.models import Profile
from chatapp.models.accounts import LONGEST_PROFILE_NAME
from chatapp.models.profiles import effort_choices, server_key
from chatapp.project.network import without_userinfo
from chatapp.project.sentences import translate
from chatapp.providers import provider_spec, provider_specs
from chatapp.providers.specs import SAFE_WINDOW, Preset, short_name
from chatapp.web.forms import KeyInput, check_address
from chatapp.web.forms.preferences import ThresholdChoice, own_prompt, prompt_field

# Far beyond any model, and within the limits of every database and page.
LARGEST_WINDOW = 1_000_000_000
# A profile that is only tried asks for a word, of a model that may think first.
TRIED_OUTPUT = 256
# Where a model may be connected besides the providers themselves.
ELSEWHERE = "elsewhere"
# USD per million tokens.
PRICES = ("price_input", "price_output", "price_cache_read", "price_cache_write")


def model_defaults() -> dict[str, dict[str, Any]]:
    """Return limits and prices of known models, as the profile form names its fields."""
    return {
        model.id: {
            "provider": spec.name,
            "name": model.name,
            "surcharge": describe_surcharge(model.prices),
            "fields": shown_figures(model.figures),
        }
        for spec in provider_specs().values()
        for model in spec.models
    }


def provider_traits() -> dict[str, dict[str, Any]]:
    """Return each provider's fields in the profile form."""
    traits = {}
    for spec in provider_specs().values():
        takes = {"effort": spec.takes_effort, "temperature": spec.takes_temperature}
        traits[spec.name] = {
            "needsKey": spec.needs_key,
            "serverKey": bool(server_key(spec)),
            "url": spec.url,
            "takes": [name for name, taken in takes.items() if taken],
            "servers": [
                {"label": one.label, "url": one.url, "needsKey": not one.is_local}
                for one in spec.presets
            ],
        }
    return traits


def describe_surcharge(prices: condense.Prices) -> str:
    """Return the higher price of a long prompt as a sentence, "" if there is none."""
    if prices.surcharge is None:
        return ""
    return translate(
        "Above {above:,} tokens of prompt, input costs {input} times as much "
        "and output {output} times.",
        above=prices.surcharge.above,
        input=plain(prices.surcharge.input),
        output=plain(prices.surcharge.output),
    )


def plain(price: Decimal) -> str:
    """Return a price without trailing zeros, as a person would type it."""
    return f"{price.normalize():f}"


def shown_figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's figures as the profile form shows them."""
    return {name: plain(one) if isinstance(one, Decimal) else one for name, one in figures.items()}


class AddressInput(forms.URLInput):
    """A field for an address, which never shows a user name or password in it."""

    def format_value(self, value: Any) -> str | None:
        """Return the address as it may be shown."""
        return without_userinfo(value) if value else None


def key_field() -> forms.CharField:
    """Return a field for a key, which no page shows again."""
    return forms.CharField(
        label=_("API key"),
        required=False,
        max_length=400,
        widget=KeyInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


def connectable() -> list[tuple[str, Any]]:
    """Return the places to connect a first model, with their labels."""
    keyed = [spec for spec in provider_specs().values() if spec.needs_key]
    # A provider whose API others speak has a label for all of them.
    named = [(one.name, one.first_profile if one.presets else one.label) for one in keyed]
    return [*named, (ELSEWHERE, _("Another address"))]


def remote_servers() -> list[Preset]:
    """Return the servers with known addresses, except those of this machine."""
    presets = (one for spec in provider_specs().values() for one in spec.presets)
    return [one for one in presets if not one.is_local]


class AddressField(forms.CharField):
    """The address of an API, as people have it at hand."""

    def to_python(self, value: Any) -> str | None:
        """Return the whole address; a host alone gets a scheme and the usual path."""
        typed = (value or "").strip().rstrip("/").removesuffix("/chat/completions")
        if typed and "://" not in typed:
            host = re.split("[/:]", typed)[0]
            is_near = "." not in host or host.replace(".", "").isdigit()
            typed = f"{'http' if is_near else 'https'}://{typed}"
        return super().to_python(typed + "/v1" * (typed.count("/") == len("//")))


class ConnectForm(forms.Form):
    """All it takes to reach a model: a key, or an address with or without one."""

    to = forms.ChoiceField(choices=connectable, widget=forms.RadioSelect)
    address = AddressField(required=False, max_length=300)
    key = key_field()
    model = forms.CharField(required=False, max_length=100)

    def clean(self) -> dict[str, Any]:
        """Require the missing field; refuse an address that no profile may call."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("to") != ELSEWHERE:
            cleaned["address"] = ""
            if not cleaned.get("key"):
                raise forms.ValidationError(_("Enter a key."))
        elif not cleaned.get("address", "wrong"):
            raise forms.ValidationError(_("Enter an address."))
        check_address(cleaned.get("address", ""), is_base=True)
        return cleaned

    def profile(self, owner: User) -> Profile:
        """Return the entered values as a profile that lacks its figures."""
        given = self.cleaned_data
        others = (spec.name for spec in provider_specs().values() if spec.presets)
        made = Profile(
            owner=owner,
            provider=next(others) if given["to"] == ELSEWHERE else given["to"],
            base_url=given["address"],
            model=given["model"],
            context_window=0,
            max_output=0,
        )
        made.set_key(given["key"])
        return made


class ProfileForm(ThresholdChoice):
    """A profile; the key can be set and removed, and is never shown."""

    system_prompt = prompt_field(_("System prompt"))
    key = key_field()
    remove_key = forms.BooleanField(label=_("Remove the stored key"), required=False)

    class Meta:
        model = Profile
        fields = (
            *("name", "provider", "model", "base_url", "context_window", "max_output"),
            *("text_only", "effort", "temperature", "summaries_by", "tokens_kept"),
            "find_contradictions",
            *("system_prompt", *PRICES),
        )
        widgets: ClassVar[dict[str, forms.Widget]] = {
            "base_url": AddressInput(),
            "model": forms.TextInput(attrs={"list": "known-models", "autocomplete": "off"}),
            "find_contradictions": forms.NullBooleanSelect(),
        }
        help_texts: ClassVar[dict[str, Any]] = {
            "base_url": _("Leave empty for the provider's own address."),
            "context_window": _("What the model can take in. Leave empty to look it up."),
            "effort": _("How much the model thinks first. Thoughts count as output."),
            "temperature": _("From 0 to 2. Leave empty for the model's default."),
            "max_output": _("Kept free for the reply, at most a fifth of the window."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["key"].widget.owner = self.instance.owner_id
        self.initial["system_prompt"] = self.instance.system_prompt or SYSTEM_PROMPT
        others = Profile.objects.filter(owner=self.instance.owner).exclude(pk=self.instance.pk)
        self.fields["summaries_by"] = forms.ModelChoiceField(
            others,
            label=_("Summarised by"),
            required=False,
            empty_label=_("Same model"),
            help_text=_("Another model must read the whole conversation again."),
        )
        inherits = [("unknown", _("As in Settings")), ("true", _("Yes")), ("false", _("No"))]
        self.fields["find_contradictions"].widget.choices = inherits
        effort = cast(forms.ChoiceField, self.fields["effort"])
        effort.choices = [("", _("Model default")), *effort_choices()]
        if not self.instance.pk:
            keyed = (spec.name for spec in provider_specs().values() if spec.needs_key)
            self.initial["provider"] = next(keyed, "")
        for name in ("context_window", "max_output"):
            self.fields[name].required = False
            self.fields[name].validators.append(MaxValueValidator(LARGEST_WINDOW))
        for name in PRICES:
            price = getattr(self.instance.prices, name.removeprefix("price_"))
            self.initial[name] = plain(Decimal(price))
            self.fields[name].disabled = self.instance.has_fixed_prices
            self.fields[name].widget.attrs.update({"step": "any", "inputmode": "decimal"})

    def prices(self) -> list[forms.BoundField]:
        """Return the fields that hold USD per million tokens, for the template."""
        return [self[name] for name in PRICES]

    def surcharge(self) -> str:
        """Return the surcharge of a long prompt to the stored profile's model, for the template."""
        return describe_surcharge(self.instance.prices)

    def clean_name(self) -> str:
        """Refuse a name that another profile of the owner has; a path becomes a short one."""
        name: str = self.cleaned_data["name"]
        model = self.data.get("model") or ""
        if model.startswith(name) and short_name(name) != name:
            name = short_name(model)[:LONGEST_PROFILE_NAME]
        same = Profile.objects.filter(owner=self.instance.owner, name=name)
        if same.exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("You have another profile of this name."))
        return name

    def clean_system_prompt(self) -> str:
        """Store nothing for the default text."""
        return own_prompt(self.cleaned_data["system_prompt"], SYSTEM_PROMPT)

    def clean_base_url(self) -> str:
        """Refuse an address that no profile may call."""
        url: str = self.cleaned_data["base_url"]
        check_address(url, is_base=True)
        return url

    def clean(self) -> dict[str, Any]:
        """Refuse a reply that could not fit into the window; drop an unused address."""
        cleaned = super().clean()
        spec = provider_spec(cleaned.get("provider", ""))
        if not spec.url:
            cleaned["base_url"] = ""
        if not spec.takes_effort:
            cleaned["effort"] = ""
        if not spec.takes_temperature:
            cleaned["temperature"] = None
        window, output = cleaned.get("context_window"), cleaned.get("max_output")
        if window and output and output >= window:
            self.add_error("max_output", _("This must be less than the context window."))
        return cleaned

    def unsaved(self) -> Profile | None:
        """Return the profile as the form says, to be tried and not saved; None without a model.

        Missing figures are the stored ones, or safe guesses.
        """
        if {"provider", "model", "base_url"} & self.errors.keys():
            return None
        profile = self.instance
        profile.context_window = profile.context_window or SAFE_WINDOW
        profile.max_output = TRIED_OUTPUT
        # The test finds out if the model sees images.
        profile.text_only = False
        self._set_key()
        return profile

    def _set_key(self) -> None:
        """Set the profile's new key, or remove it unless a new one was typed."""
        removes = self.cleaned_data.get("remove_key") and not self.data.get("key")
        key = "" if removes else self.cleaned_data.get("key", "")
        if key or removes:
            self.instance.set_key(key)

    def save(self, commit: bool = True) -> Profile:
        """Store the profile with its key."""
        self._set_key()
        return super().save(commit)
