"""The start of a condensation: window, reserve, threshold, and whether one is due."""

from condense.situation.budget import BUFFER, Budget, Fixed, Resolver, with_threshold
from condense.situation.decision import Decision, Gauge, Policy, require_enough
from condense.situation.language import language_in
from condense.situation.situation import (
    Addition,
    Chosen,
    Environment,
    Kind,
    Reduction,
    Situation,
    Trigger,
    Verdict,
)

__all__ = [
    "BUFFER",
    "Addition",
    "Budget",
    "Chosen",
    "Decision",
    "Environment",
    "Fixed",
    "Gauge",
    "Kind",
    "Policy",
    "Reduction",
    "Resolver",
    "Situation",
    "Trigger",
    "Verdict",
    "language_in",
    "require_enough",
    "with_threshold",
]
