"""What a profile's window allows, and what a request weighs in it before its messages."""

import functools
import json
from dataclasses import dataclass

import condense
from chatapp.agent.prompts import SYSTEM_PROMPT
from chatapp.models import Preferences, Profile
from chatapp.tools import WorkspaceToolbox

# The offline provider counts with the same tokenizer, so its estimates need no safety margin.
_FACTORS: dict[str, float] = {Profile.Provider.OFFLINE: 1.0}


def counter_for(profile: Profile) -> condense.TokenCounter:
    """Return the token counter for a profile's model; loads its vocabulary on first use."""
    return _counter(_FACTORS.get(profile.provider))


@functools.cache
def _counter(factor: float | None) -> condense.TokenCounter:
    return condense.TiktokenCounter() if factor is None else condense.TiktokenCounter(factor=factor)


def budget_for(profile: Profile, preferences: Preferences) -> condense.Budget:
    """Return the window, the reserve and the thresholds in force for a profile."""
    return condense.Budget(
        window=profile.context_window,
        max_output=profile.max_output,
        threshold=preferences.threshold,
        profile_threshold=profile.threshold,
    )


@dataclass(frozen=True, slots=True)
class Overhead:
    """Estimated tokens of what every request repeats."""

    system: int
    tools: int

    @property
    def total(self) -> int:
        """System prompt and tools together."""
        return self.system + self.tools


@functools.cache
def overhead_for(provider: str) -> Overhead:
    """Return what system prompt and tools weigh for a provider's models."""
    counter = _counter(_FACTORS.get(provider))
    tools = json.dumps([spec.to_api() for spec in WorkspaceToolbox.specs])
    return Overhead(counter.count(SYSTEM_PROMPT), counter.count(tools))
