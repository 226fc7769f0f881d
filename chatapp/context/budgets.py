"""What a profile's window allows, and what a request weighs in it before its messages."""

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.module_loading import import_string

import condense
from chatapp.agent.toolbox import ToolSpec
from chatapp.models import Preferences, Profile
from chatapp.providers import provider_spec

ConfigurationChange = Callable[[condense.Configuration], condense.Configuration]

# One for all: how far a model's own tokenizer is from it is learned from its reports.
COUNTER: condense.TokenCounter = condense.PromptCounter()


def warm_up() -> None:
    """Begin to load the vocabulary, in a thread, so that no page and no turn waits for it."""
    threading.Thread(target=COUNTER.count, args=("",), name="vocabulary", daemon=True).start()


def budget_for(
    profile: Profile, preferences: Preferences, history: Sequence[condense.Message] = ()
) -> condense.Budget:
    """Return the window, the reserve and the threshold in force for a profile.

    The threshold may depend on what a conversation's ``history`` was like so far.
    """
    return configuration_for(profile, preferences).budget(
        profile.context_window, profile.output_limit, profile=profile.name, history=history
    )


def configuration_for(profile: Profile, preferences: Preferences) -> condense.Configuration:
    """Return what user and server want of condensing; its strategies are names to be loaded."""
    chosen = preferences.strategy or settings.CONDENSE_STRATEGY
    own = condense.PerProfile({profile.name: profile.threshold})
    adaptive = (condense.Adaptive(),) if preferences.adaptive else ()
    made = condense.Configuration(
        strategies=condense.ladder_from(chosen, clear=preferences.clear_tool_output),
        thresholds=(own, *adaptive, condense.Fixed(preferences.threshold)),
        buffer=settings.CONDENSE_BUFFER / 100,
        automatic=preferences.auto_condense,
        prompt=preferences.condensing_prompt,
    )
    if not settings.CONDENSE_CONFIGURATION:
        return made
    change: ConfigurationChange = import_string(settings.CONDENSE_CONFIGURATION)
    return change(made)


@dataclass(frozen=True, slots=True)
class Overhead:
    """Estimated tokens of what every request repeats."""

    system: int
    tools: int

    @property
    def total(self) -> int:
        """System prompt and tools together."""
        return self.system + self.tools


def overhead_for(provider: str, tools: tuple[ToolSpec, ...], system: str) -> Overhead:
    """Return what system prompt and tools weigh for a provider's models."""
    tool_prompt = provider_spec(provider).tool_prompt_tokens
    return Overhead(_size_of(system), _size_of_tools(tools) + tool_prompt)


@functools.lru_cache(maxsize=100)
def _size_of(system: str) -> int:
    return COUNTER.count(system)


@functools.lru_cache(maxsize=100)
def _size_of_tools(tools: tuple[ToolSpec, ...]) -> int:
    return condense.count_tools([spec.to_api() for spec in tools], COUNTER)
