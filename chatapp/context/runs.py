"""One run in a conversation, as it was when it began."""

from dataclasses import dataclass
from functools import cached_property

import condense
from chatapp.agent.prompts import SYSTEM_PROMPT
from chatapp.context.budgets import budget_for
from chatapp.models import Conversation, Preferences, Profile, Turn


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a turn works with, or a condensation by hand; what is changed meanwhile comes too late.

    ``focus`` is what a condensation by hand should keep above all.
    """

    conversation: Conversation
    profile: Profile
    preferences: Preferences
    turn: Turn | None = None
    focus: str = ""
    system: str = SYSTEM_PROMPT

    @cached_property
    def budget(self) -> condense.Budget:
        """The window, the reserve and the thresholds in force."""
        return budget_for(self.profile, self.preferences)
