"""The what-if form: strategies, thresholds, a prompt and a writer to compare."""

import re
from typing import Any, cast

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.conversations.context.trial_settings import Variant
from chatapp.conversations.context.turn_context import TurnSettings
from chatapp.models import Profile
from chatapp.web.forms.preferences import (
    VALUE_OUT_OF_RANGE,
    default_prompt,
    own_prompt,
    prompt_field,
    strategy_choices,
)

MOST_THRESHOLDS, UP_TO_FOUR = 4, _("Up to four, as in “60, 80”.")
# Separates the parts of a button's value.
CHOICE_SEPARATOR = "|"
_NUMBERS = re.compile(r"[0-9]{1,3}(?:[\s,;]+[0-9]{1,3})*")


def free_strategies() -> list[str]:
    """Return the strategies that ask no model."""
    known = condense.known_strategies()
    return [one.name for one in known if not getattr(one, "asks_model", True)]


def tried_strategies() -> list[tuple[str, Any]]:
    """Return the strategies to compare, first those that ask no model."""
    free = free_strategies()
    return sorted(strategy_choices(clearing=True), key=lambda one: one[0] not in free)


class WhatIfForm(forms.Form):
    """Settings to compare with those in force."""

    strategies = forms.MultipleChoiceField(
        label=_("Methods"), choices=tried_strategies, widget=forms.CheckboxSelectMultiple
    )
    thresholds = forms.CharField(label=_("Thresholds (%)"), max_length=40, help_text=UP_TO_FOUR)
    writer = forms.ModelChoiceField(
        Profile.objects.none(), label=_("Summaries by"), empty_label=None, required=False
    )
    prompt = prompt_field(_("Condensing prompt"), rows=8)

    def __init__(self, data: Any = None, *, terms: TurnSettings) -> None:
        self.terms = terms
        own = terms.preferences.strategy or settings.CONDENSE_STRATEGY
        initial = {
            "strategies": [*free_strategies(), own],
            "thresholds": f"{terms.budget().threshold:.0f}",
            "writer": terms.writer,
            "prompt": terms.configuration.prompt or default_prompt(terms.preferences),
        }
        super().__init__(data, initial=initial)
        writer = cast("forms.ModelChoiceField[Profile]", self.fields["writer"])
        writer.queryset = terms.conversation.owner.profiles.all()

    def clean_thresholds(self) -> list[int]:
        """Return the percentages, each once."""
        text = self.cleaned_data["thresholds"].strip()
        if not _NUMBERS.fullmatch(text):
            raise forms.ValidationError(VALUE_OUT_OF_RANGE)
        numbers = [*dict.fromkeys(map(int, re.findall(r"[0-9]+", text)))]
        if not all(condense.MIN_THRESHOLD <= one <= condense.MAX_THRESHOLD for one in numbers):
            raise forms.ValidationError(VALUE_OUT_OF_RANGE)
        if len(numbers) > MOST_THRESHOLDS:
            raise forms.ValidationError(UP_TO_FOUR)
        return numbers

    def clean_prompt(self) -> str:
        """Return the entered prompt, "" for the default one."""
        return own_prompt(self.cleaned_data["prompt"], default_prompt(self.terms.preferences))

    def variants(self) -> list[Variant]:
        """Return the variants to compare; a new prompt is compared with the prompt in force."""
        now, entered = self.terms.configuration.prompt, self.cleaned_data["prompt"]
        free = free_strategies()
        return [
            self._variant(name, prompt)
            for name in self.cleaned_data["strategies"]
            for prompt in ([now] if name in free else dict.fromkeys([now, entered]))
        ]

    def chosen(self, button: str) -> Variant | None:
        """Return the variant named by a button: strategy, threshold, and new or old prompt.

        Return None for a variant that was not compared.
        """
        strategy, threshold, *entered = [*button.split(CHOICE_SEPARATOR), ""]
        now: str = self.terms.configuration.prompt
        prompt: str = self.cleaned_data["prompt"] if any(entered) else now
        known = {str(one): one for one in self.cleaned_data["thresholds"]}
        if strategy not in self.cleaned_data["strategies"] or threshold not in {*known, ""}:
            return None
        return self._variant(strategy, prompt, known.get(threshold))

    def _variant(self, strategy: str, prompt: str, threshold: int | None = None) -> Variant:
        return Variant(
            strategy=strategy,
            threshold=threshold or self.cleaned_data["thresholds"][0],
            prompt=prompt,
            writer=self.cleaned_data["writer"] or self.terms.writer,
        )
