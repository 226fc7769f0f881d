"""Other settings for condensing than those in force, as values: nothing of them is saved."""

import copy
from dataclasses import dataclass, replace
from typing import Self

from django.conf import settings
from django.db import transaction

import condense
from chatapp.conversations.context.turn_context import TurnSettings
from chatapp.models import Preferences, Profile

CLEAR = "clear"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Possible settings."""

    strategy: str  # "clear" comes before any other
    threshold: float  # percentage
    prompt: str  # blank for the default one
    writer: Profile  # writes summaries

    @classmethod
    def in_force(cls, terms: TurnSettings) -> Self:
        """Return the settings in force."""
        return cls(
            strategy=terms.preferences.strategy or settings.CONDENSE_STRATEGY,
            threshold=terms.budget().threshold,
            prompt=terms.configuration.prompt,
            writer=terms.writer,
        )

    def of(self, terms: TurnSettings) -> TurnSettings:
        """Return the terms of a conversation with this variant in force."""
        preferences, profile = copy.copy(terms.preferences), copy.copy(terms.profile)
        for name, value in self.preferences(terms).items():
            setattr(preferences, name, value)
        for name, value in self.profile(terms).items():
            setattr(profile, name, value)
        return replace(terms, profile=profile, preferences=preferences)

    def preferences(self, terms: TurnSettings) -> dict[str, object]:
        """Return the preferences that would change, with their new values."""
        wanted: dict[str, object] = {}
        if self.prompt != terms.configuration.prompt:
            wanted["condensing_prompt"] = self.prompt
        wanted |= {"clear_tool_output": True} if self.is_clearing else {"strategy": self._stored}
        if self._is_other_threshold(terms) and terms.profile.threshold == condense.INHERIT:
            wanted |= {"threshold": round(self.threshold), "adaptive": False}
        return wanted

    def profile(self, terms: TurnSettings) -> dict[str, object]:
        """Return the columns of the answering profile that would change, with their new values."""
        wanted: dict[str, object] = {}
        if self.writer != terms.writer:
            wanted["summaries_by"] = None if self.writer == terms.profile else self.writer
        if self.prompt != terms.configuration.prompt:
            wanted["condensing_prompt"] = None
        if self._is_other_threshold(terms) and terms.profile.threshold != condense.INHERIT:
            wanted["threshold"] = round(self.threshold)
        return wanted

    @property
    def _stored(self) -> str:
        """The strategy as it is stored; "" stands for the server's, also if that changes later."""
        return "" if self.strategy == settings.CONDENSE_STRATEGY else self.strategy

    @property
    def is_clearing(self) -> bool:
        """True if it only clears results, before the strategy that is set."""
        return self.strategy == CLEAR

    def _is_other_threshold(self, terms: TurnSettings) -> bool:
        return round(self.threshold) != round(terms.budget().threshold)


@transaction.atomic
def use_variant(*, terms: TurnSettings, variant: Variant) -> None:
    """Store the variant in the settings; conversations stay as they are."""
    Preferences.objects.filter(pk=terms.preferences.pk).update(**variant.preferences(terms))
    if changed := variant.profile(terms):
        Profile.objects.filter(pk=terms.profile.pk).update(**changed)
