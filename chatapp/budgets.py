"""What a profile's window allows, and what a request weighs in it before its messages."""

import functools
import json

import condense
from chatapp.agent.prompts import SYSTEM_PROMPT
from chatapp.models import Preferences, Profile
from chatapp.tools import WorkspaceToolbox

# The offline provider counts with the same tokenizer, so its estimates need no safety margin.
_FACTORS = {Profile.Provider.OFFLINE: 1.0}


def counter_for(profile: Profile) -> condense.TokenCounter:
    """Return the token counter for a profile's model; loads its vocabulary on first use."""
    return _counter(_FACTORS.get(Profile.Provider(profile.provider)))


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


@functools.cache
def system_tokens(counter: condense.TokenCounter) -> int:
    """Return the estimated tokens of the system prompt."""
    return counter.count(SYSTEM_PROMPT)


@functools.cache
def tools_tokens(counter: condense.TokenCounter) -> int:
    """Return the estimated tokens of the tools' specifications."""
    return counter.count(json.dumps([spec.to_api() for spec in WorkspaceToolbox.specs]))


def overhead_for(profile: Profile) -> int:
    """Return the estimated tokens of what every request repeats: system prompt and tools."""
    counter = counter_for(profile)
    return system_tokens(counter) + tools_tokens(counter)
