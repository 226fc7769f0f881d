"""Roo Code's settings, as its export writes them, read as a configuration of this engine."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from condense.budget.budget import INHERIT, MAX_THRESHOLD, MIN_THRESHOLD, Fixed, PerProfile
from condense.condenser.condenser import Configuration
from condense.errors import CondenseError
from condense.sentences import noop
from condense.unicode_text import well_formed

OUT_OF_RANGE = noop("{name} is {value:.40}, not a number from {least} to {most}: not used.")
MOVED = noop(
    "customCondensingPrompt is taken for customSupportPrompts.CONDENSE, which took its place."
)
REPLACED = noop("customCondensingPrompt is not used: customSupportPrompts.CONDENSE took its place.")
UNKNOWN_PROFILE = noop(
    "profileThresholds names the profile {id}, which the file does not hold: its id is used."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RooSettings:
    """The settings of condensing in a file; None for each that it lacks."""

    automatic: bool | None = None
    threshold: float | None = None
    profiles: Mapping[str, float] = field(default_factory=dict)  # percentages by name; -1 inherits
    prompt: str | None = None
    notes: tuple[str, ...] = ()  # on settings not used, or moved

    def configuration(self, base: Configuration | None = None) -> Configuration:
        """Return the configuration with these settings in it."""
        made = base or Configuration()
        asked = made.thresholds if self.threshold is None else (Fixed(self.threshold),)
        return replace(
            made,
            thresholds=(PerProfile(self.profiles), *asked),
            automatic=made.automatic if self.automatic is None else self.automatic,
            prompt=made.prompt if self.prompt is None else self.prompt,
        )


def read_roo_settings(data: object) -> RooSettings:
    """Return the settings in parsed JSON: an export, or the global settings alone.

    Raises CondenseError if it is neither.
    """
    if not isinstance(data, Mapping):
        raise CondenseError(noop("Roo Code's settings are a JSON object."))
    settings = _object(data, "globalSettings") or data
    notes: list[str] = []
    automatic = settings.get("autoCondenseContext")
    return RooSettings(
        automatic=automatic if isinstance(automatic, bool) else None,
        threshold=_percent("autoCondenseContextPercent", settings, notes),
        profiles=dict(_profiles(settings, _names(data), notes)),
        prompt=_prompt(settings, notes),
        notes=tuple(notes),
    )


def _names(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the profiles in an export by their ids."""
    configs = _object(_object(data, "providerProfiles"), "apiConfigs")
    return {
        config["id"]: name
        for name, config in configs.items()
        if isinstance(config, Mapping) and isinstance(config.get("id"), str)
    }


def _profiles(
    settings: Mapping[str, Any], names: Mapping[str, str], notes: list[str]
) -> Iterator[tuple[str, float]]:
    thresholds = _object(settings, "profileThresholds")
    for id_, value in thresholds.items():
        if id_ not in names:
            notes.append(UNKNOWN_PROFILE.format(id=id_))
        inherits = isinstance(value, int | float) and value == INHERIT
        percent = INHERIT if inherits else _percent(id_, thresholds, notes, "profileThresholds.")
        if percent is not None:
            yield names.get(id_, id_), percent


def _percent(
    name: str, settings: Mapping[str, Any], notes: list[str], within: str = ""
) -> float | None:
    value = settings.get(name)
    if isinstance(value, int | float) and MIN_THRESHOLD <= value <= MAX_THRESHOLD:
        return value
    if value is not None:
        limits = {"least": MIN_THRESHOLD, "most": MAX_THRESHOLD}
        notes.append(OUT_OF_RANGE.format(name=f"{within}{name}", value=repr(value), **limits))
    return None


def _prompt(settings: Mapping[str, Any], notes: list[str]) -> str | None:
    """Return the user's prompt, blank for the default; an old one is moved as Roo Code moves it."""
    old = settings.get("customCondensingPrompt")
    new = _object(settings, "customSupportPrompts").get("CONDENSE")
    replaced = isinstance(new, str) and bool(new.strip())
    if isinstance(old, str) and old.strip():
        notes.append(REPLACED if replaced else MOVED)
    found = new if replaced or not isinstance(old, str) else old
    return well_formed(found).strip() if isinstance(found, str) else None


def _object(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, Mapping) else {}
