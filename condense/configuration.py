"""All that an application may set, as one value: what it is made of decides, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from condense.budget.budget import BUFFER, Budget, Fixed, Resolver, with_threshold
from condense.budget.situation import Situation
from condense.condenser.condenser import Condenser
from condense.condenser.hooks import Hooks, PromptChoice
from condense.condenser.ladder import Policy, ladder_from
from condense.condenser.log import CondensationLog
from condense.condenser.review import Reviewer
from condense.messages import Message
from condense.reduction.strategy import Strategy
from condense.summaries.summarizer import Summarizer
from condense.tokens.counters import TokenCount, TokenCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """How contexts are condensed; ``replace`` makes another one of it.

    ``strategies`` are the rungs, ``thresholds`` whom to ask where to start, ``buffer`` the share of
    a window for wrong estimates, ``policy`` the ladder's numbers. ``automatic`` and ``prompt`` are
    the user's wishes; ``choose_prompt`` names the prompt where there is none.
    """

    strategies: Sequence[str | Strategy] = field(default_factory=lambda: ladder_from("fresh_start"))
    thresholds: tuple[Resolver, ...] = (Fixed(100),)
    buffer: float = BUFFER
    policy: Policy = field(default_factory=Policy)
    hooks: Hooks = field(default_factory=Hooks)
    automatic: bool = True
    prompt: str = ""
    choose_prompt: PromptChoice | None = None

    def condenser(
        self,
        summarizer: Summarizer,
        counter: TokenCounter,
        *,
        log: CondensationLog | None = None,
        reviewer: Reviewer | None = None,
    ) -> Condenser:
        """Return the condenser that works so."""
        return Condenser(
            summarizer,
            counter,
            self.strategies,
            policy=self.policy,
            hooks=self.hooks,
            choose_prompt=self.choose_prompt,
            log=log,
            reviewer=reviewer,
        )

    def budget(
        self,
        window: int,
        max_output: int | None = None,
        *,
        profile: str = "",
        history: Sequence[Message] = (),
    ) -> Budget:
        """Return what a model's window allows, and where in it an automatic condensation starts."""
        allowed = Budget(window=window, max_output=max_output, buffer=self.buffer)
        return with_threshold(allowed, self.thresholds, profile=profile, history=history)

    def situation(
        self, effective: Sequence[Message], tokens: TokenCount, budget: Budget, **rest: Any
    ) -> Situation:
        """Return a conversation's situation with the user's wishes in it."""
        wishes = {"automatic": self.automatic, "prompt": self.prompt}
        return Situation(
            effective=tuple(effective), tokens=tokens, budget=budget, **{**wishes, **rest}
        )
