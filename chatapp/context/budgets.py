"""What a profile's window allows, and what a request weighs in it before its messages."""

import functools
import threading
from dataclasses import dataclass

from django.conf import settings

import condense
from chatapp.agent.prompts import SYSTEM_PROMPT
from chatapp.models import Preferences, Profile
from chatapp.providers import provider_spec
from chatapp.tools import tool_specs

# One for all: how far a model's own tokenizer is from it is learned from its reports.
COUNTER: condense.TokenCounter = condense.PromptCounter()


def warm_up() -> None:
    """Begin to load the vocabulary, in a thread, so that no page and no turn waits for it."""
    threading.Thread(target=COUNTER.count, args=("",), name="vocabulary", daemon=True).start()


def budget_for(profile: Profile, preferences: Preferences) -> condense.Budget:
    """Return the window, the reserve and the threshold in force for a profile."""
    return configuration_for(profile, preferences).budget(
        profile.context_window, profile.output_limit, profile=profile.name
    )


def configuration_for(profile: Profile, preferences: Preferences) -> condense.Configuration:
    """Return what user and server want of condensing, but for what it is made of."""
    own = condense.PerProfile({profile.name: profile.threshold})
    return condense.Configuration(
        thresholds=(own, condense.Fixed(preferences.threshold)),
        buffer=settings.CONDENSE_BUFFER / 100,
        automatic=preferences.auto_condense,
        prompt=preferences.condensing_prompt,
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
def overhead_for(provider: str, tools: tuple[str, ...]) -> Overhead:
    """Return what system prompt and tools weigh for a provider's models."""
    specs = tool_specs()
    size = condense.count_tools([specs[name].to_api() for name in tools], COUNTER)
    return Overhead(COUNTER.count(SYSTEM_PROMPT), size + provider_spec(provider).tool_prompt_tokens)
