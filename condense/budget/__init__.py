"""The start of a condensation: window, reserve, threshold, and whether one is due."""

from condense.budget.budget import BUFFER, Budget, Fixed, Resolver, with_threshold
from condense.budget.decision import Decision, Gauge, Policy, require_enough
from condense.budget.language import language_in
from condense.budget.situation import (
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
