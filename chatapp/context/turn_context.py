"""One run in a conversation, as things were when it began."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import condense
from chatapp.context import sizes
from chatapp.context.condense_requests import Scope, Wishes
from chatapp.context.system_prompt import system_of
from chatapp.models import Conversation, Preferences, Profile, Turn


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a conversation's next turn would work with."""

    conversation: Conversation
    profile: Profile
    preferences: Preferences

    @property
    def writer(self) -> Profile:
        """The profile that writes summaries: the one that answers, unless it names another."""
        return self.profile.summaries_by or self.profile

    @cached_property
    def system(self) -> str:
        """What the model is told before the conversation; it stays as it is read first."""
        return system_of(self.conversation, self.profile)

    @cached_property
    def configuration(self) -> condense.Configuration:
        """What user and server want of condensing."""
        return sizes.configuration_for(self.profile, self.preferences)

    def budget(self, history: Sequence[condense.Message] = ()) -> condense.Budget:
        """Return the window, the reserve and the threshold in force."""
        profile = self.profile
        return self.configuration.budget(
            profile.context_window, profile.output_limit, profile=profile.name, history=history
        )


@dataclass(frozen=True, kw_only=True)
class Run(Terms):
    """What a turn works with; what is changed meanwhile comes too late, but for budgets.

    ``focus`` is what a condensation by hand should keep above all, ``scope`` what it is of where
    that is not all; with ``reviews`` a person looks at it before it applies. Nobody asked
    just now for one made ``while_idle``. ``wishes`` are what people ask for while it goes on.
    """

    turn: Turn
    focus: str = ""
    reviews: bool = False
    scope: Scope | None = None
    while_idle: bool = False
    wishes: Wishes = field(default_factory=Wishes, compare=False, repr=False)
